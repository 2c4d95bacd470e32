"""Requests to the API of one organization."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from .content import Content
from .early_answers import EarlyAnswerHandler, SecureEarlyAnswerHandler

_MAX_SENDS = 4
_FIRST_DELAY_S = 0.25
_MAX_DELAY_S = 60.0
#: Statuses that a later request can find gone.
_TEMPORARY = frozenset({429, 502, 503, 504})
#: The service sends something at least every 15 s on a stream, and answers a wait within 60 s.
_TIMEOUT_S = 90.0

ApiKey = Union[str, Callable[[], str]]


class SignalboxError(Exception):
    """The service refused a request. ``code`` is stable; the text is for people."""

    def __init__(self, status: int, problem: Mapping[str, Any], request_id: Optional[str]) -> None:
        super().__init__(problem.get("detail") or problem.get("title") or f"The service answered {status}.")
        self.status = status
        #: A word of the service's table of errors; ``unknown`` if the answer is not the service's own.
        self.code: str = problem.get("code") or "unknown"
        self.request_id: Optional[str] = problem.get("request_id") or request_id
        #: The faults of the request, by their paths.
        self.errors: List[Dict[str, str]] = list(problem.get("errors") or [])


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The service redirects no API request. Another server does not get the key."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class HttpClient:
    """Sends requests, again after a pause where that is safe."""

    def __init__(self, url: str, org: str, api_key: ApiKey, timeout: float = _TIMEOUT_S) -> None:
        self._root = f"{url.rstrip('/')}/api/{quote(org)}/"
        self._api_key = api_key
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirect, EarlyAnswerHandler, SecureEarlyAnswerHandler)

    def json(self, path: str, **request: Any) -> Any:
        """Returns the parsed body. Raises ``SignalboxError`` or ``OSError``."""
        with self.send(path, **request) as response:
            return json.load(response)

    def send(
        self,
        path: str,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        is_repeatable: Optional[bool] = None,
        content: Optional[Content] = None,
    ) -> http.client.HTTPResponse:
        """
        Sends a POST with this body as JSON, or with this content, or a GET. Repeats it if the service cannot serve it now or, for a
        repeatable request (it only reads, or has an idempotency key), if the connection fails. Content that cannot be sent again is not.
        """
        if body is not None:
            content = Content(json.dumps(body).encode())
        repeatable = content is None if is_repeatable is None else is_repeatable
        for sends in range(1, _MAX_SENDS + 1):
            delay = _FIRST_DELAY_S * 4 ** (sends - 1)
            try:
                return self._open(path, content, headers or {})
            except urllib.error.HTTPError as error:
                refusal = _refusal_of(error)
                after = _seconds_of(error.headers.get("retry-after"))
                # Without `Retry-After`, the request might have been carried out.
                can_wait = repeatable if after is None else after <= _MAX_DELAY_S
                can_send = content is None or content.can_be_repeated
                if error.code not in _TEMPORARY or not can_wait or not can_send or sends == _MAX_SENDS:
                    raise refusal from None
                delay = delay if after is None else after
            except (OSError, http.client.HTTPException):
                if not repeatable or sends == _MAX_SENDS:
                    raise
            time.sleep(delay)
        raise AssertionError("unreachable")

    def _open(self, path: str, content: Optional[Content], headers: Mapping[str, str]) -> http.client.HTTPResponse:
        key = self._api_key if isinstance(self._api_key, str) else self._api_key()
        request = urllib.request.Request(
            self._root + path,
            data=None if content is None else content.rewound(),
            headers={"authorization": f"Bearer {key}", "content-type": "application/json", **headers},
        )
        response: http.client.HTTPResponse = self._opener.open(request, timeout=self._timeout)
        return response


def quote(text: str) -> str:
    """A segment of a path."""
    return urllib.parse.quote(text, safe="")


def _refusal_of(error: urllib.error.HTTPError) -> SignalboxError:
    try:
        problem = json.load(error)
    except (ValueError, OSError):
        problem = {}
    return SignalboxError(error.code, problem if isinstance(problem, dict) else {}, error.headers.get("x-request-id"))


def _seconds_of(text: Optional[str]) -> Optional[float]:
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None
