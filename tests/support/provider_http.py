"""A small HTTP server on loopback that answers from a script and records its requests. Must not know a provider's wire format.

`tests.support.provider_servers` describes the scripts.
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
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self

from tests.support.hashing_embedder import hashed
from tests.support.loopback_server import LoopbackServer

Wire = dict[str, Any]
Script = Callable[[list[Wire], list[Wire]], Wire]
SPLIT = 7
DRIP_SECONDS = 0.01
PATIENCE = 20.0


@dataclass
class Recorded:
    """A received request. `raw`: the bytes of its body. `body`: the parsed body; {} for a GET."""

    method: str
    path: str
    headers: dict[str, str]
    body: Wire = field(default_factory=dict)
    raw: bytes = b""


class ScriptedServer:
    """The common part of the providers' servers. `requests`: the model calls; `embedded`: the embedding calls, recorded if
    `keeps`;
    `listings`: the requests for the model list.
    """

    prefix = ""
    completions = ""
    embeddings = ""
    stream_type = "text/event-stream"

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
        self.address = self._http.address
        self.url = self.address + self.prefix

    def says(self, **say: Any) -> None:
        """Answer every later call with this."""
        self.script = lambda *_: say

    def close(self) -> None:
        self.closing.set()
        self._http.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def serves(self, path: str) -> bool:
        """Whether a POST to this path calls the model."""
        return path == self.prefix + self.completions

    def streams(self, request: Recorded) -> bool:
        """Whether the call requests a stream."""
        return bool(request.body.get("stream"))

    def answer(self, request: Recorded) -> Wire:
        """The answer to a model call."""
        return self.script(request.body["messages"], request.body.get("tools") or [])

    def listed(self, request: Recorded) -> Wire:  # noqa: ARG002  a server with several lists reads the path
        """The answer to a GET."""
        return self.listing_says or {"raw": json.dumps(self.listing()).encode()}

    @abstractmethod
    def whole(self, say: Wire) -> Wire:
        """The body of a reply."""

    @abstractmethod
    def events(self, say: Wire) -> Iterator[bytes]:
        """The reply as server-sent events."""

    @abstractmethod
    def listing(self) -> Wire:
        """The body of the model list."""


class _Http(LoopbackServer):
    def __init__(self, scripted: ScriptedServer) -> None:
        self.scripted = scripted
        super().__init__(_Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores the error of a client that disconnected, and shows any other."""
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
        """Logs nothing."""

    def do_GET(self) -> None:
        server = self.server.scripted
        request = Recorded("GET", self.path, {name.lower(): value for name, value in self.headers.items()})
        server.listings.append(request)
        self._answer(server.listed(request), streams=False)

    def do_POST(self) -> None:
        server = self.server.scripted
        raw = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Recorded("POST", self.path, headers, json.loads(raw), raw)
        embeds = bool(server.embeddings) and self.path == server.prefix + server.embeddings
        if server.keeps:
            (server.embedded if embeds else server.requests).append(request)
        if embeds:
            self._answer(server.embeds(request.body), streams=False)
            return
        if not server.serves(self.path):
            self._send(404, b'{"error": {"message": "no such route"}}')
            return
        if server.latency:
            server.closing.wait(server.latency)
        self._answer(server.answer(request), streams=server.streams(request))

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
        # One write: with two, the body would wait for the acknowledgement of the head.
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
        """Send nothing more, and wait until the client disconnects."""
        self.close_connection = True
        self.connection.settimeout(PATIENCE)
        with suppress(OSError):
            if not self.connection.recv(1):
                self.server.scripted.gone.set()

    def _drip(self, streams: bool) -> None:
        self._head_of_stream("text/event-stream" if streams else "application/json")
        while self._chunk(b": still here\n\n" if streams else b" "):
            self.server.scripted.closing.wait(DRIP_SECONDS)

    def _head_of_stream(self, kind: str | None = None) -> None:
        kind = kind or self.server.scripted.stream_type
        self.wfile.write(
            f"HTTP/1.1 200 Scripted\r\ncontent-type: {kind}\r\nx-request-id: req-1\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        )

    def _chunk(self, piece: bytes) -> bool:
        """Send a chunk. If the client has disconnected, sets `gone` and returns False."""
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
    """The default answer to an embedding call: a vector for each text, in the requested dimension."""
    size = body.get("dimensions", 8)
    made = [list(hashed(text.lower().split(), size)) for text in body["input"]]
    rows = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(made)]
    return {"raw": json.dumps({"object": "list", "model": body["model"], "data": rows}).encode()}


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), SPLIT):
        yield text[start : start + SPLIT]


def as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
