"""A TCP relay in front of the service, whose connections can be broken."""

import socket
import threading
from typing import List, Tuple


class Relay:
    def __init__(self, target: Tuple[str, int]) -> None:
        self._target = target
        self._sockets: List[socket.socket] = []
        self.connections = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Breaks every connection; new ones are let through."""
        while self._sockets:
            _close(self._sockets.pop())

    def close(self) -> None:
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            service = socket.create_connection(self._target)
            self._sockets += [caller, service]
            for source, sink in ((caller, service), (service, caller)):
                threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    _close(source)
    _close(sink)


def _close(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
