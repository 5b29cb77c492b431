"""A receiver of webhooks on a loopback address, which checks signatures as a receiver does who knows the convention and not our
code.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class HookServer:
    """It keeps what it hears, and answers with the status `answers`."""

    def __init__(self) -> None:
        self.answers = 204
        self.heard: list[tuple[Mapping[str, str], bytes]] = []
        self._news = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(receiver.answers)
                self.send_header("content-length", "0")
                self.end_headers()
                receiver.hear({name.lower(): value for name, value in self.headers.items()}, body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def hear(self, headers: Mapping[str, str], body: bytes) -> None:
        """Keep a request."""
        with self._news:
            self.heard.append((headers, body))
            self._news.notify_all()

    def wait(self, number: int) -> None:
        """Wait until so many requests were heard. Raises: AssertionError after 20 seconds."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.heard) >= number, 20)

    def verify(self, secret: str, headers: Mapping[str, str], body: bytes) -> None:
        """Raises: AssertionError for a request that is not signed with the secret."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        assert f"v1,{expected}" in headers["webhook-signature"].split()
