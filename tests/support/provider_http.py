"""A small real HTTP server on loopback that says what a script tells it to and keeps what it was sent; it knows no provider's wire format.

What a script may say is described in `tests.support.provider_servers`.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support.hashing_embedder import hashed

Wire = dict[str, Any]
Script = Callable[[list[Wire], list[Wire]], Wire]
SPLIT = 7
DRIP_SECONDS = 0.01
PATIENCE = 20.0


@dataclass
class Recorded:
    """A request as it came. `body` {} for a GET; `raw` its bytes."""

    method: str
    path: str
    headers: dict[str, str]
    body: Wire = field(default_factory=dict)
    raw: bytes = b""


class ScriptedServer:
    """What the providers' servers share. `requests` are the calls of the model, `embedded` those of the embedder, kept if it `keeps`;
    `listings` those of the model list.
    """

    prefix = ""
    completions = ""
    embeddings = ""

    def __init__(
        self, script: Script | None = None, *, models: list[Wire] | None = None, latency: float = 0.0, keeps: bool = True
    ) -> None:
        self.script: Script = script or _greeting
        self.embeds: Callable[[Wire], Wire] = vectors
        self.listing_says: Wire | None = None
        self.models = [{"id": "test-model"}] if models is None else models
        self.latency = latency
        self.keeps = keeps
        self.requests: list[Recorded] = []
        self.embedded: list[Recorded] = []
        self.listings: list[Recorded] = []
        self.connections = 0
        self.gone = threading.Event()
        self.closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.url = self.address + self.prefix

    def says(self, **say: Any) -> None:
        """From now on, always this."""
        self.script = lambda *_: say

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def serves(self, path: str) -> bool:
        """Whether a POST to this path calls the model."""
        return path == self.prefix + self.completions

    def streams(self, asked: Recorded) -> bool:
        """Whether the call wants events."""
        return bool(asked.body.get("stream"))

    def answer(self, asked: Recorded) -> Wire:
        """What to say to a call of the model."""
        return self.script(asked.body["messages"], asked.body.get("tools") or [])

    def listed(self, asked: Recorded) -> Wire:  # noqa: ARG002  a server with several lists looks at the path
        """What to say to a GET."""
        return self.listing_says or {"raw": json.dumps(self.listing()).encode()}

    @abstractmethod
    def whole(self, say: Wire) -> Wire:
        """The body of a reply."""

    @abstractmethod
    def events(self, say: Wire) -> Iterator[bytes]:
        """The same as server-sent events."""

    @abstractmethod
    def listing(self) -> Wire:
        """The body of the model list."""


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, scripted: ScriptedServer) -> None:
        self.scripted = scripted
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        self.server.scripted.connections += 1
        super().setup()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        server = self.server.scripted
        asked = Recorded("GET", self.path, {name.lower(): value for name, value in self.headers.items()})
        server.listings.append(asked)
        self._answer(server.listed(asked), streams=False)

    def do_POST(self) -> None:
        server = self.server.scripted
        raw = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Recorded("POST", self.path, headers, json.loads(raw), raw)
        embeds = bool(server.embeddings) and self.path == server.prefix + server.embeddings
        if server.keeps:
            (server.embedded if embeds else server.requests).append(asked)
        if embeds:
            self._answer(server.embeds(asked.body), streams=False)
            return
        if not server.serves(self.path):
            self._send(404, b'{"error": {"message": "no such route"}}')
            return
        if server.latency:
            server.closing.wait(server.latency)
        self._answer(server.answer(asked), streams=server.streams(asked))

    def _answer(self, say: Wire, *, streams: bool) -> None:
        server = self.server.scripted
        if say.get("hang"):
            self._hold()
        elif say.get("stall"):
            self._head_of_stream()
            self._hold()
        elif say.get("drip"):
            self._drip(streams)
        elif "status" in say:
            body = say.get("body", {})
            self._send(say["status"], body if isinstance(body, bytes) else json.dumps(body).encode(), say.get("headers"))
        elif streams:
            pieces = [say["raw"]] if "raw" in say else server.events(say)
            self._stream(pieces, say)
        else:
            body = say["raw"] if "raw" in say else json.dumps(server.whole(say)).encode()
            self._send(200, body, cut=bool(say.get("cut")))

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, *, cut: bool = False) -> None:
        fields = {"content-type": "application/json", "content-length": str(len(body)), "x-request-id": "req-1"} | (headers or {})
        head = f"HTTP/1.1 {status} Scripted\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        # One write: head and body sent apart wait for each other's acknowledgement.
        self.wfile.write(head.encode() + b"\r\n" + (body[: len(body) // 2] if cut else body))
        if cut:
            self._break()

    def _stream(self, pieces: Any, say: Wire) -> None:
        self._head_of_stream()
        if "cut_at" in say:
            self._chunk(b"".join(pieces)[: say["cut_at"]])
            self._break()
            return
        for number, piece in enumerate(pieces):
            if "before" in say:
                say["before"](number)
            if say.get("cut") and number >= 3:
                self._break()
                return
            if number == say.get("holds"):
                self._hold()
                return
            if not self._chunk(piece):
                return
        if say.get("lingers"):
            self._hold()
            return
        self.wfile.write(b"0\r\n\r\n")

    def _hold(self) -> None:
        """Say nothing more until the client has gone away."""
        self.close_connection = True
        self.connection.settimeout(PATIENCE)
        with suppress(OSError):
            if not self.connection.recv(1):
                self.server.scripted.gone.set()

    def _drip(self, streams: bool) -> None:
        self._head_of_stream("text/event-stream" if streams else "application/json")
        while self._chunk(b": still here\n\n" if streams else b" "):
            self.server.scripted.closing.wait(DRIP_SECONDS)

    def _head_of_stream(self, kind: str = "text/event-stream") -> None:
        self.wfile.write(
            f"HTTP/1.1 200 Scripted\r\ncontent-type: {kind}\r\nx-request-id: req-1\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        )

    def _chunk(self, piece: bytes) -> bool:
        """False, and `gone` is set, where nobody listens any more."""
        try:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        except OSError:
            self.server.scripted.gone.set()
            self.close_connection = True
            return False
        return not self.server.scripted.closing.is_set()

    def _break(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _greeting(messages: list[Wire], tools: list[Wire]) -> Wire:
    return {"content": "Hello."}


def vectors(body: Wire) -> Wire:
    """What `embeds` says: a vector for each text, in the dimension that is asked for."""
    size = body.get("dimensions", 8)
    made = [list(hashed(text.lower().split(), size)) for text in body["input"]]
    rows = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(made)]
    return {"raw": json.dumps({"object": "list", "model": body["model"], "data": rows}).encode()}


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), SPLIT):
        yield text[start : start + SPLIT]


def as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
