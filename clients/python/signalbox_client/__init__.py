"""A client of Signalbox without dependencies. ``Signalbox`` is where to begin."""

from .client import Signalbox
from .files import Download, Files
from .http import SignalboxError
from .stream import RunStream
from .types import FileItem, Message, Page, RunError, RunResult, RunUsage, SteerAccepted, UiMessageChunk

__all__ = [
    "Download",
    "FileItem",
    "Files",
    "Message",
    "Page",
    "RunError",
    "RunResult",
    "RunStream",
    "RunUsage",
    "Signalbox",
    "SignalboxError",
    "SteerAccepted",
    "UiMessageChunk",
]
