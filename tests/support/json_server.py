"""A server on loopback that answers each POST, PUT and GET with JSON. It must not know who asks, or for what."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self

from tests.support.loopback_server import LoopbackServer

Answer = Callable[[str, Mapping[str, str], bytes], tuple[int, Any]]
"""The status and the body for a path, headers (with names in lower case) and the bytes of a body. A body in bytes is sent as it
is.
"""


class JsonServer:
    """The server, from its creation until `close`. `address` is its URL without a path."""

    def __init__(self, answer: Answer) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.do_POST()

            def do_PUT(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, reply = answer(self.path, {name.lower(): value for name, value in self.headers.items()}, sent)
                raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:
                """Logs nothing."""

        self._http = LoopbackServer(Handler)
        self.address = self._http.address

    def close(self) -> None:
        self._http.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
