"""Files: uploads, downloads, and messages that name them."""

import io
import os
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import BinaryIO, Callable, List, Union
from urllib.parse import urlsplit

from relay import Relay
from service import AGENT, API_KEY, URL, client, new_thread
from signalbox_client import Signalbox, SignalboxError

MIB = 1 << 20


class Pipe(io.RawIOBase):
    """A file that cannot go back, and that fails after some reads."""

    def __init__(self, pieces: int, failure: Union[Exception, None] = None) -> None:
        self._pieces = pieces
        self._failure = failure

    def read(self, size: int = -1) -> bytes:
        self._pieces -= 1
        if self._pieces >= 0:
            return b"a" * 65536
        if self._failure is not None:
            raise self._failure
        return b""


class OnceBusy(BaseHTTPRequestHandler):
    """A server that refuses the first upload, and takes the next."""

    bodies: List[bytes] = []

    def do_POST(self) -> None:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        self.bodies.append(body)
        answer = b'{"item": {"id": "x"}}' if len(self.bodies) > 1 else b'{"code": "rate_limited"}'
        self.send_response(201 if len(self.bodies) > 1 else 429)
        self.send_header("retry-after", "0")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def upload_to_busy(source: BinaryIO) -> List[bytes]:
    """Uploads to a service that is busy once; returns what has arrived."""
    OnceBusy.bodies = []
    server = HTTPServer(("127.0.0.1", 0), OnceBusy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        Signalbox(f"http://127.0.0.1:{server.server_port}", "key").files.upload(source)
    finally:
        server.shutdown()
        server.server_close()
    return OnceBusy.bodies


def file_count() -> int:
    count: int = client.tool("FILE_LIST")["totalCount"]
    return count


class FilesTest(unittest.TestCase):
    def refusal_of(self, call: Callable[[], object]) -> SignalboxError:
        with self.assertRaises(SignalboxError) as refused:
            call()
        return refused.exception

    def test_uploads_bytes_and_reads_all_of_them_or_a_part(self) -> None:
        data = bytes(range(256)) * 1000
        item = client.files.upload(data, "application/x-own", "Größe '1' (neu).bin")
        expected = ("application/x-own", "Größe '1' (neu).bin", len(data))
        self.assertEqual((item["media_type"], item["filename"], item["size"]), expected)
        with client.files.download(item["id"]) as whole:
            self.assertEqual((whole.media_type, whole.size, whole.read()), ("application/x-own", len(data), data))
        part = client.files.download(item["id"], start=300, end=70_000)
        self.assertEqual((part.size, part.read()), (69_700, data[300:70_000]))
        self.assertEqual(client.files.download(item["id"], start=255_900).read(), data[255_900:])
        past = self.refusal_of(lambda: client.files.download(item["id"], start=len(data)))
        self.assertEqual((past.status, past.code), (416, "range_not_satisfiable"))
        with self.assertRaises(ValueError):
            client.files.download(item["id"], start=5, end=5)

    def test_uploads_the_file_of_a_path_and_an_open_file_from_its_position(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "Züge.csv")
            with open(path, "w", encoding="utf-8") as out:
                out.write("train;minutes")
            item = client.files.upload(path)
            self.assertEqual((item["media_type"], item["filename"], item["size"]), ("text/csv", "Züge.csv", 13))
            with open(path, "rb") as file:
                file.seek(6)
                rest = client.files.upload(file, "text/plain")
        self.assertEqual((rest["filename"], client.files.download(rest["id"]).read()), (None, b"minutes"))

    def test_uploads_what_a_pipe_has(self) -> None:
        item = client.files.upload(Pipe(40), filename="a.txt.gz")
        self.assertEqual((item["size"], item["media_type"]), (40 * 65536, "text/plain"))

    def test_raises_the_answer_to_an_upload_that_is_refused_before_its_end(self) -> None:
        for source in (b"a" * (15 * MIB), io.BytesIO(b"a" * (15 * MIB)), Pipe(240)):
            lie = self.refusal_of(lambda: client.files.upload(source, "image/png"))
            self.assertEqual((lie.status, lie.code), (400, "file_type_mismatch"))
        large = self.refusal_of(lambda: client.files.upload(b"a" * (30 * MIB)))
        self.assertEqual((large.status, large.code), (413, "body_too_large"))

    def test_leaves_nothing_of_an_upload_whose_source_fails(self) -> None:
        before = file_count()
        with self.assertRaises(ValueError):
            client.files.upload(Pipe(10, ValueError("The disk is gone.")))
        self.assertEqual(file_count(), before)

    def test_sends_a_file_again_after_a_refusal_and_a_pipe_only_once(self) -> None:
        file = io.BytesIO(b"not this, but this")
        file.seek(10)
        self.assertEqual(upload_to_busy(file), [b"but this"] * 2)
        self.assertEqual(self.refusal_of(lambda: upload_to_busy(Pipe(1))).code, "rate_limited")
        self.assertEqual(len(OnceBusy.bodies), 1)

    def test_tells_a_download_that_breaks_off_from_one_that_ends(self) -> None:
        item = client.files.upload(b"a" * (15 * MIB))
        origin = urlsplit(URL)
        relay = Relay((origin.hostname or "", origin.port or 80))
        self.addCleanup(relay.close)
        download = Signalbox(f"http://127.0.0.1:{relay.port}", API_KEY).files.download(item["id"])
        with self.assertRaises(OSError):
            for _ in download:
                relay.cut()

    def test_asks_about_a_file(self) -> None:
        item = client.files.upload(b"train;minutes", filename="Züge.csv")
        thread_id = new_thread()
        result = client.ask(thread_id, AGENT, "Which one is late?", files=[item])
        assert result["message"] is not None
        text = "".join(part.get("text", "") for part in result["message"]["parts"])
        self.assertEqual(text, "You said: Züge.csv:\ntrain;minutes\nWhich one is late?")
        question = next(client.list("COLLECTION_THREAD_MESSAGES_LIST", {"thread_id": thread_id}))
        self.assertEqual([part["type"] for part in question["parts"]], ["file", "text"])

    def test_opens_files_with_the_token_of_a_thread(self) -> None:
        thread_id = new_thread()
        data = {"thread_id": thread_id, "permissions": ["read", "post"]}
        visitor = Signalbox(URL, client.tool("THREAD_TOKEN_CREATE", data)["token"])
        item = visitor.files.upload(b"mine", "text/plain")
        self.assertEqual(visitor.files.download(item["id"]).read(), b"mine")
        other = client.files.upload(b"not yours", "text/plain")
        self.assertEqual(self.refusal_of(lambda: visitor.files.download(other["id"])).status, 404)
