"""A receiver on the loopback that answers as a test wants it to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


class Receiver(ThreadingHTTPServer):
    """Keeps what was posted: path, headers, body."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.received: list[tuple[str, Any, bytes]] = []

    def url(self, path: str = "/hook", login: str = "") -> str:
        """Return the address of a path."""
        return f"http://{login}127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_GET(self) -> None:
        self._take(b"")

    def do_POST(self) -> None:
        self._take(self.rfile.read(int(self.headers["Content-Length"])))

    def _take(self, body: bytes) -> None:
        self.server.received.append((self.path, self.headers, body))
        self.server.answer(self)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def code(number: int, **headers: str) -> Answer:
    """Return an answer of a code, without a body."""

    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(number)
        for name, value in headers.items():
            to.send_header(name, value)
        to.end_headers()

    return answer


@contextmanager
def receiving(answer: Answer) -> Iterator[Receiver]:
    """Serve for a while."""
    with Receiver(answer) as receiver:
        serving = threading.Thread(target=receiver.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            serving.join()
