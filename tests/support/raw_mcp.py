"""An MCP server on loopback without the official package: it keeps to the protocol until its script says otherwise."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any, Self

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}}
Script = Callable[["RawExchange"], None]


class RawExchange(BaseHTTPRequestHandler):
    """One request; `message` is its JSON."""

    server: RawMcp
    message: dict[str, Any]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, body: bytes, kind: str = "application/json", *, status: int = 200, **headers: str) -> None:
        """Answer with these bytes."""
        self.begin(kind, status=status, **{"content-length": str(len(body)), **headers})
        self.wfile.write(body)

    def result(self, result: Any) -> None:
        """Answer with the result of the request."""
        self.answer(json.dumps({"jsonrpc": "2.0", "id": self.message["id"], "result": result}).encode())

    def event(self, message: dict[str, Any]) -> None:
        """One message of an answer that is a stream of events."""
        self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
        self.wfile.flush()

    def begin(self, kind: str, *, status: int = 200, **headers: str) -> None:
        """The head of an answer whose body follows; without a length it ends with the connection."""
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "content-length" not in headers:
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()

    def do_POST(self) -> None:
        self.message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "method" not in self.message:
            self.server.replies.put(self.message)
            self.answer(b"", status=202)
            return
        method = self.message["method"]
        self.server.asked.append(method)
        if "id" not in self.message:
            self.answer(b"", status=202)
        elif method == "server/discover":
            self.answer(b"", status=404)
        elif method == "initialize":
            self.server.offered = self.message["params"]["capabilities"]
            self.result(HELLO)
        else:
            self.server.script(self)

    def do_GET(self) -> None:
        if self.server.listens is None:
            self.answer(b"", status=405)
        else:
            self.server.listens(self)

    def do_DELETE(self) -> None:
        self.answer(b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


class RawMcp(ThreadingHTTPServer):
    """The server. `script` answers what is asked after the handshake; `asked`: the methods of all messages; `offered`: the
    capabilities of the newest client; `replies`: what clients replied to its own questions. `listens` answers a GET, with which a
    session of the older transport begins (None: that is refused). `over` is set at its end.
    """

    daemon_threads = True
    block_on_close = True

    def __init__(self, script: Script, listens: Script | None = None) -> None:
        super().__init__(("127.0.0.1", 0), RawExchange)
        self.script = script
        self.listens = listens
        self.asked: list[str] = []
        self.offered: dict[str, Any] = {}
        self.replies: Queue[dict[str, Any]] = Queue()
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has left is no error."""

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.005})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.shutdown()
        self._thread.join()
        self.server_close()
