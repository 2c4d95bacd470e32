"""The stream of one run."""

from __future__ import annotations

import http.client
import json
import time
from typing import Iterator, List, Optional, Tuple

from .http import HttpClient, SignalboxError, quote
from .types import UiMessageChunk

#: How often a stream is opened again without having received anything.
_MAX_ATTEMPTS = 8
_FIRST_DELAY_S = 0.1
_MAX_DELAY_S = 5.0


class RunStream:
    """
    The chunks of one run, in order, each once: ``for chunk in stream``. Ends with the run. A connection that breaks is opened again
    behind the last chunk. To leave early cancels nothing but the reading; use it as a context manager to close the connection.
    """

    def __init__(
        self,
        http_client: HttpClient,
        path: str,
        first: Optional[http.client.HTTPResponse] = None,
        task_id: Optional[str] = None,
        after: Optional[str] = None,
    ) -> None:
        self._http = http_client
        self._path = path
        self._response = first
        self._task_id = task_id if first is None else (first.headers.get("x-task-id") or task_id)
        #: The position of the last chunk. Another process can continue from here with ``watch``.
        self.last_event_id: Optional[str] = after

    @property
    def task_id(self) -> Optional[str]:
        """The id of the run; ``None`` until it is known."""
        return self._task_id or (self.last_event_id.split(":", 1)[0] if self.last_event_id else None)

    def open(self) -> "RunStream":
        """Opens the stream, so that a run that is posted from now on is not missed."""
        if self._response is None:
            self._response = self._connect()
        return self

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None

    def __enter__(self) -> "RunStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[UiMessageChunk]:
        """Raises ``SignalboxError``, such as ``stream_expired``: read the transcript then."""
        attempt = 0
        while attempt < _MAX_ATTEMPTS:
            if attempt > 0:
                time.sleep(min(_FIRST_DELAY_S * 2 ** (attempt - 1), _MAX_DELAY_S))
            attempt += 1
            try:
                for event_id, data in _events(self.open()._response):
                    if data == "[DONE]":
                        self.close()
                        return
                    # Something has arrived, so the next loss is another one.
                    attempt = 1
                    self.last_event_id = event_id or self.last_event_id
                    yield json.loads(data)
            except SignalboxError:
                raise
            except (OSError, http.client.HTTPException):
                pass
            self.close()
        raise ConnectionError("The stream broke off, and could not be opened again.")

    def _connect(self) -> http.client.HTTPResponse:
        query = "" if self.task_id is None else f"?taskId={quote(self.task_id)}"
        headers = {"accept": "text/event-stream"}
        if self.last_event_id is not None:
            headers["last-event-id"] = self.last_event_id
        return self._http.send(self._path + query, headers=headers)


def _events(response: Optional[http.client.HTTPResponse]) -> Iterator[Tuple[Optional[str], str]]:
    """Server-Sent Events (WHATWG HTML): the last id, and the data. An event that breaks off is left out."""
    event_id: Optional[str] = None
    data: List[str] = []
    for line in response or ():
        text = line.decode().rstrip("\r\n")
        if text == "":
            if data:
                yield event_id, "\n".join(data)
            data = []
            continue
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            data.append(value)
        elif name == "id":
            event_id = value
