"""A server on loopback that answers AWS's JSON protocol from a script.

Knows statuses, error codes and bodies. Must not know the service.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Says:
    """An answer. `text`: a raw text instead of a JSON body. `hangs`: no answer is sent."""

    body: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    text: str | None = None
    hangs: bool = False
    breaks: bool = False

    def cut_off(self) -> Says:
        """The answer, cut off in the middle by the end of the connection."""
        return replace(self, breaks=True)


def error(code: str, message: str = "", status: int = 400, **more: Any) -> Says:
    """An error of the service."""
    return Says({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **more}, status)


class SpokenAws(ThreadingHTTPServer):
    """Sends its answers one after another and repeats the last one. It records the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[Says] = [Says()]
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.released = threading.Event()
        self._arrived = threading.Condition()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def received(self, number: int) -> int:
        """The number of requests, once there are `number` of them or half a minute has passed. A client that does not wait for
        its answer may be faster than the server.
        """
        with self._arrived:
            self._arrived.wait_for(lambda: len(self.asked) >= number, timeout=30)
            return len(self.asked)

    def record(self, verb: str, request: dict[str, Any]) -> Says:
        """Note a request; returns its answer."""
        with self._arrived:
            self.asked.append((verb, request))
            self._arrived.notify_all()
            return self.next_answer()

    def next_answer(self) -> Says:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SpokenAws

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.record(self.headers["X-Amz-Target"].rsplit(".", 1)[1], request)
        if answer.hangs:
            self.server.released.wait()
            self.close_connection = True
            return
        body = (json.dumps(answer.body) if answer.text is None else answer.text).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body) + (100 if answer.breaks else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = answer.breaks

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


@contextmanager
def spoken_aws() -> Iterator[SpokenAws]:
    """A running server, which is closed at the end."""
    server = SpokenAws()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
