"""The client: management tools, messages and runs."""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, cast

from .files import Files
from .http import ApiKey, HttpClient, quote
from .stream import RunStream
from .types import FileItem, Page, RunResult, SteerAccepted

#: The longest wait of one request, in seconds. Longer waits are several requests.
_WAIT_S = 60
_EVENT_STREAM = {"accept": "text/event-stream"}
#: Tools that only read can be called again.
_READING = re.compile(r"_(?:GET|LIST|STATS)$")


class Signalbox:
    """
    Drives agents and calls management tools. Requests that may be repeated are repeated after network failures and temporary refusals;
    a message carries an idempotency key, so it is never answered twice.

    Every method raises ``SignalboxError`` for a refused request, and ``OSError`` if there is no response. Methods that post take the
    options ``files`` (uploaded ones, which the message has ahead of its text), ``tier``, ``temperature`` and ``idempotency_key``.

    :param url: the origin of the service, such as ``https://signalbox.example.com``
    :param api_key: an API key, or a function that is asked for one before each request
    :param org: the slug of the organization
    """

    def __init__(self, url: str, api_key: ApiKey, org: str = "default") -> None:
        self._http = HttpClient(url, org, api_key)
        self.files = Files(self._http)

    def tool(self, name: str, input: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        """Calls a management tool: ``signalbox.tool("API_KEY_LIST")``."""
        is_repeatable = _READING.search(name) is not None
        path = f"tools/{quote(name)}"
        return cast(Dict[str, Any], self._http.json(path, body=dict(input or {}), is_repeatable=is_repeatable))

    def list(self, name: str, input: Optional[Mapping[str, Any]] = None) -> Iterator[Dict[str, Any]]:
        """Yields every item of a list, page by page."""
        cursor: Optional[str] = None
        while True:
            page = cast(Page, self.tool(name, {**(input or {}), **({"cursor": cursor} if cursor else {})}))
            yield from page["items"]
            cursor = page.get("nextCursor")
            if not cursor:
                return

    def post(self, thread_id: str, agent_id: str, text: str, **options: Any) -> str:
        """Posts a message and returns the id of its run, which continues whether or not anybody reads its answer."""
        with self._message(thread_id, agent_id, text, {}, **options) as response:
            return cast(str, json.load(response)["taskId"])

    def ask(self, thread_id: str, agent_id: str, text: str, **options: Any) -> RunResult:
        """Posts a message and waits for the end of its run, or until the run waits for an approval."""
        with self._message(thread_id, agent_id, text, {"prefer": f"wait={_WAIT_S}"}, **options) as response:
            answer = json.load(response)
            if response.status == 200:
                return cast(RunResult, answer)
        return self.wait(answer["taskId"])

    def stream(self, thread_id: str, agent_id: str, text: str, **options: Any) -> RunStream:
        """Posts a message and streams the answer. Returns when the message is accepted."""
        response = self._message(thread_id, agent_id, text, _EVENT_STREAM, **options)
        return RunStream(self._http, f"{_path_of(thread_id)}/stream", response)

    def steer(self, thread_id: str, agent_id: str, text: str, interrupt: bool = False, **options: Any) -> SteerAccepted:
        """
        Adds a message to the run that is under way. Without one, or if it ends first, the message gets a run of its own. ``interrupt`` ends
        the current step of the run first. Takes ``files`` and ``idempotency_key``.
        """
        route = "steer?interrupt=true" if interrupt else "steer"
        with self._message(thread_id, agent_id, text, {}, route=route, **options) as response:
            return cast(SteerAccepted, json.load(response))

    def regenerate(
        self, thread_id: str, message_id: Optional[str] = None, idempotency_key: Optional[str] = None
    ) -> RunStream:
        """Answers a question again, and streams that answer. ``message_id`` is of the answer or its question; by default the last."""
        body = {} if message_id is None else {"messageId": message_id}
        response = self._post(f"{_path_of(thread_id)}/regenerate", body, _EVENT_STREAM, idempotency_key)
        return RunStream(self._http, f"{_path_of(thread_id)}/stream", response)

    def watch(self, thread_id: str, task_id: Optional[str] = None, last_event_id: Optional[str] = None) -> RunStream:
        """Streams a run from its beginning, or from a position; without ``task_id`` the thread's current run, or its next one."""
        return RunStream(self._http, f"{_path_of(thread_id)}/stream", task_id=task_id, after=last_event_id).open()

    def resume(self, thread_id: str) -> Optional[RunStream]:
        """Streams the thread's current run from its beginning. ``None`` if there is none."""
        path = f"{_path_of(thread_id)}/stream"
        response = self._http.send(f"{path}?idle=204", headers=_EVENT_STREAM)
        return None if response.status == 204 else RunStream(self._http, path, response)

    def result(self, task_id: str, wait_seconds: int = 0) -> RunResult:
        """What a run has come to. Waits for its end, 60 seconds at most."""
        return cast(RunResult, self._http.json(f"agent-runtime/runs/{quote(task_id)}?wait={wait_seconds}"))

    def wait(self, task_id: str, timeout: Optional[float] = None) -> RunResult:
        """
        Waits until a run has ended or waits for an approval, however long that takes. After ``timeout`` seconds, returns what a run in
        progress has so far.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _WAIT_S if deadline is None else max(0, min(_WAIT_S, round(deadline - time.monotonic())))
            result = self.result(task_id, left)
            if result["status"] not in ("queued", "running"):
                return result
            if deadline is not None and time.monotonic() >= deadline:
                return result

    def cancel(self, thread_id: str, task_id: Optional[str] = None) -> None:
        """Cancels one run, or all runs of the thread."""
        body = {} if task_id is None else {"taskId": task_id}
        self._http.send(f"{_path_of(thread_id)}/cancel", body=body, is_repeatable=True).close()

    def approve(self, thread_id: str, approval_id: str, approved: bool, reason: Optional[str] = None) -> None:
        """Answers the approval that a tool call waits for. The same answer again is accepted."""
        body = {"approved": approved, **({} if reason is None else {"reason": reason})}
        path = f"{_path_of(thread_id)}/approvals/{quote(approval_id)}"
        self._http.send(path, body=body, is_repeatable=True).close()

    def _message(
        self,
        thread_id: str,
        agent_id: str,
        text: str,
        headers: Mapping[str, str],
        files: Sequence[FileItem] = (),
        tier: Optional[str] = None,
        temperature: Optional[float] = None,
        idempotency_key: Optional[str] = None,
        route: str = "messages",
    ) -> Any:
        parts = [*map(_part_of, files), {"type": "text", "text": text}]
        body: Dict[str, Any] = {
            "messages": [{"role": "user", "parts": parts}],
            "agent": {"id": agent_id},
            **({} if tier is None else {"tier": tier}),
            **({} if temperature is None else {"temperature": temperature}),
        }
        return self._post(f"{_path_of(thread_id)}/{route}", body, headers, idempotency_key)

    def _post(self, path: str, body: Any, headers: Mapping[str, str], idempotency_key: Optional[str]) -> Any:
        keyed = {"accept": "application/json", **headers, "idempotency-key": idempotency_key or str(uuid.uuid4())}
        return self._http.send(path, body=body, headers=keyed, is_repeatable=True)


def _path_of(thread_id: str) -> str:
    return f"agent-runtime/threads/{quote(thread_id)}"


def _part_of(file: FileItem) -> Dict[str, str]:
    """The part of a message that names the file."""
    name = {} if file["filename"] is None else {"filename": file["filename"]}
    return {"type": "file", "mediaType": file["media_type"], "url": file["url"], **name}
