"""Messages, runs and their streams, and management tools."""

import json
import unittest
from typing import Any, Dict, List
from urllib.parse import urlsplit

from relay import Relay
from service import AGENT, API_KEY, ASKING_AGENT, URL, client, new_thread
from signalbox_client import Signalbox, SignalboxError


def text_of(chunks: List[Dict[str, Any]]) -> str:
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.thread_id = new_thread()

    def test_asks_and_reads_the_transcript(self) -> None:
        result = client.ask(self.thread_id, AGENT, "Hello")
        assert result["message"] is not None
        self.assertEqual((result["status"], result["error"]), ("completed", None))
        self.assertIn("You said: Hello", [part.get("text") for part in result["message"]["parts"]])
        messages = client.list("COLLECTION_THREAD_MESSAGES_LIST", {"thread_id": self.thread_id, "limit": 1})
        self.assertEqual([message["role"] for message in messages], ["user", "assistant"])

    def test_reads_the_output_of_an_agent_with_a_schema(self) -> None:
        data = {"title": "Parts", "output_schema": {"type": "object", "properties": {"part": {"type": "string"}}}}
        agent = client.tool("COLLECTION_VIRTUAL_MCP_CREATE", {"data": data})["item"]["id"]
        result = client.ask(new_thread(agent), agent, '/json {"part":"axle"}')
        self.assertEqual(result["output"], {"part": "axle"})
        self.assertIsNone(client.ask(self.thread_id, AGENT, "Hello")["output"])

    def test_returns_the_failure_of_a_run_as_its_result(self) -> None:
        result = client.ask(self.thread_id, AGENT, "/fail out of coal")
        expected = ("failed", {"code": "model_failed", "message": "out of coal"})
        self.assertEqual((result["status"], result["error"]), expected)

    def test_posts_waits_for_a_bounded_time_and_cancels(self) -> None:
        task_id = client.post(self.thread_id, AGENT, "/wait 600000")
        self.assertIn(client.result(task_id)["status"], ("queued", "running"))
        self.assertIn(client.wait(task_id, timeout=0.001)["status"], ("queued", "running"))
        resumed = client.resume(self.thread_id)
        assert resumed is not None
        resumed.close()
        client.cancel(self.thread_id, task_id)
        self.assertEqual(client.wait(task_id)["status"], "cancelled")
        self.assertIsNone(client.resume(self.thread_id))

    def test_steers_the_run_that_is_under_way_or_posts(self) -> None:
        task_id = client.post(self.thread_id, AGENT, "/words 2\n/wait 60000")
        steered = client.steer(self.thread_id, AGENT, "The other one", interrupt=True)
        self.assertEqual(steered, {"taskId": task_id, "steered": True})
        self.assertIn("You said: The other one", json.dumps(client.wait(task_id)["message"]))
        self.assertFalse(client.steer(self.thread_id, AGENT, "Next")["steered"])

    def test_streams_an_answer_with_its_tool_calls_and_answers_again(self) -> None:
        with client.stream(self.thread_id, AGENT, 'Hi\n/call echo {"message":"trains"}') as stream:
            types = [chunk["type"] for chunk in stream]
            self.assertEqual((types[0], types[-1]), ("start", "finish"))
            self.assertIn("tool-output-available", types)
            self.assertEqual(client.result(stream.task_id or "")["status"], "completed")
        with client.regenerate(self.thread_id) as again:
            self.assertEqual([chunk["type"] for chunk in again], types)

    def test_watches_a_run_from_any_position(self) -> None:
        with client.watch(self.thread_id) as stream:
            task_id = client.post(self.thread_id, AGENT, "/words 20")
            whole = list(stream)
        self.assertEqual(stream.task_id, task_id)
        first: List[Dict[str, Any]] = []
        with client.watch(self.thread_id, task_id=task_id) as again:
            for chunk in again:
                first.append(chunk)
                if len(first) == 5:
                    break
        with client.watch(self.thread_id, last_event_id=again.last_event_id) as rest:
            self.assertEqual(first + list(rest), whole)

    def test_continues_a_stream_whose_connection_breaks(self) -> None:
        origin = urlsplit(URL)
        relay = Relay((origin.hostname or "", origin.port or 80))
        self.addCleanup(relay.close)
        distant = Signalbox(f"http://127.0.0.1:{relay.port}", API_KEY)
        question = "\n".join(["/words 40", "/wait 200"] * 3)
        chunks: List[Dict[str, Any]] = []
        cuts = 0
        with distant.stream(self.thread_id, AGENT, question) as stream:
            for chunk in stream:
                chunks.append(chunk)
                if chunk["type"] == "text-delta" and cuts == 0:
                    cuts += 1
                    relay.cut()
        self.assertEqual(cuts, 1)
        self.assertGreater(relay.connections, cuts)
        with client.watch(self.thread_id, task_id=stream.task_id) as whole:
            self.assertEqual(text_of(chunks), text_of(list(whole)))

    def test_repeats_a_post_without_a_second_run(self) -> None:
        key = "the-same"
        first = client.post(self.thread_id, AGENT, "Once", idempotency_key=key)
        self.assertEqual(client.post(self.thread_id, AGENT, "Once", idempotency_key=key), first)

    def test_answers_an_approval(self) -> None:
        thread_id = new_thread(ASKING_AGENT)
        waiting = client.ask(thread_id, ASKING_AGENT, '/call echo {"message":"approved"}')
        self.assertEqual(waiting["status"], "waiting")
        client.approve(thread_id, waiting["pending_approvals"][0]["id"], approved=True)
        self.assertEqual(client.wait(waiting["taskId"])["status"], "completed")

    def test_raises_what_the_service_answers(self) -> None:
        with self.assertRaises(SignalboxError) as refused:
            client.tool("RUN_GET", {"id": "no-uuid"})
        error = refused.exception
        self.assertEqual((error.status, error.code, error.errors[0]["path"]), (400, "invalid_request", "id"))
        self.assertTrue(error.request_id)
        with self.assertRaises(SignalboxError) as unknown:
            Signalbox(URL, lambda: "sbx_wrong").tool("API_KEY_LIST")
        self.assertEqual(unknown.exception.status, 401)
        self.assertNotIn(API_KEY, repr(vars(error)))

    def test_raises_at_once_when_a_spending_limit_is_reached(self) -> None:
        provider = {"title": "Dear", "kind": "openai-compatible", "base_url": "http://127.0.0.1:9"}
        provider_id = client.tool("AI_PROVIDER_CREATE", {"data": provider})["item"]["id"]
        tier = {"provider_id": provider_id, "model": "large", "price": {"input": 0, "output": 10_000}}
        client.tool("MODEL_TIERS_SET", {"data": {"thinking": tier}})
        data = {"title": "Poor", "spend": {"usd_per_month": 1}}
        agent = client.tool("COLLECTION_VIRTUAL_MCP_CREATE", {"data": data})["item"]["id"]
        with self.assertRaises(SignalboxError) as refused:
            client.ask(new_thread(agent), agent, "Hello", tier="thinking")
        self.assertEqual((refused.exception.status, refused.exception.code), (429, "spend_limit_reached"))


if __name__ == "__main__":
    unittest.main()
