"""Answers that arrive before the request has been sent."""

from __future__ import annotations

import http.client
import urllib.request
from typing import Any


class _EarlyAnswers:
    """
    A connection on which a server can answer before it has read the whole request, as the service does to refuse an upload. It closes
    the connection then, and what is still being sent fails; the answer is there all the same.
    """

    sock: Any

    def request(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
        except (BrokenPipeError, ConnectionResetError):
            if self.sock is None:
                raise


class _Connection(_EarlyAnswers, http.client.HTTPConnection):
    pass


class _SecureConnection(_EarlyAnswers, http.client.HTTPSConnection):
    pass


class EarlyAnswerHandler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class SecureEarlyAnswerHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, req)
