"""A client of Signalbox without dependencies. ``Signalbox`` is where to begin."""

from .client import Signalbox
from .http import SignalboxError
from .stream import RunStream
from .types import Message, Page, RunError, RunResult, RunUsage, UiMessageChunk

__all__ = [
    "Message",
    "Page",
    "RunError",
    "RunResult",
    "RunStream",
    "RunUsage",
    "Signalbox",
    "SignalboxError",
    "UiMessageChunk",
]
