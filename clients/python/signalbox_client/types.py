"""What the service answers, as far as the client reads it. Objects can have further members."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict

#: A UI-message chunk of the AI SDK: its ``type``, and the members of that type.
UiMessageChunk = Dict[str, Any]


class RunError(TypedDict):
    """Why a run failed. ``code`` is stable."""

    code: str
    message: str


class RunUsage(TypedDict):
    inputTokens: int
    outputTokens: int
    totalTokens: int


class Message(TypedDict):
    """A message of the transcript; ``parts`` are those of the AI SDK's ``UIMessage``."""

    id: str
    thread_id: str
    role: Literal["system", "user", "assistant"]
    parts: List[Dict[str, Any]]
    metadata: Dict[str, Any]
    created_at: str
    updated_at: str


class RunResult(TypedDict):
    """
    What a run has come to: over, or so far. ``output`` is the object that a completed run of an agent with an ``output_schema`` has
    answered.
    """

    taskId: str
    status: Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]
    message: Optional[Message]
    output: Optional[Dict[str, Any]]
    usage: Optional[RunUsage]
    error: Optional[RunError]
    pending_approvals: List[Dict[str, Any]]
    answered_approvals: List[Dict[str, Any]]


class SteerAccepted(TypedDict):
    """Whether the run takes the message, or the message got a run of its own."""

    taskId: str
    steered: bool


class FileItem(TypedDict):
    """What is known of an uploaded file. ``size`` is in bytes, ``sha256`` in hexadecimal, ``url`` a path at the service."""

    id: str
    media_type: str
    filename: Optional[str]
    size: int
    sha256: str
    url: str
    created_at: str


class Page(TypedDict):
    """One page of a list."""

    items: List[Any]
    totalCount: int
    hasMore: bool
    nextCursor: Optional[str]
