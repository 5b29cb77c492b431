"""Small real servers that speak a provider's wire format on loopback: what they say is scripted, what they were sent is kept.

    with ScriptedOpenAI(lambda messages, tools: {"content": "hi"}) as server:
        OpenAIModel(api_key="k", base_url=server.url, …)

A script is given the messages and tools as they stood on the wire, and returns what to say. The same says work on both servers:

    {"content", "reasoning", "signature", "tool_calls": [{"id", "name", "arguments"}], "finish_reason", "usage"}   a reply
    {"status": 429, "body": {…} or bytes, "headers": {…}}    a refusal, or any other answer
    {"raw": b"…"}     the body of a 200, or of an event stream, as it is
    {"cut": True} with a reply     the connection breaks in the middle of the body
    {"hang": True}    no answer until the client goes away
    {"stall": True}   the head of an answer, and then nothing until the client goes away
    {"drip": True}    bytes arrive for ever, and the answer never ends
    {"before": f} with a reply    f is told the number of each event of the stream before it is sent, and may keep it waiting
    {"holds": n} with a reply     a stream falls silent after n events, until the client goes away
    {"lingers": True} with a reply     a stream does not end behind its last event, until the client goes away

Embeddings have a script of their own, `embeds`, which is given the body; by default the vectors of `hashing_embedder`.
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
from typing import Any, ClassVar, Self

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
        server.listings.append(Recorded("GET", self.path, {name.lower(): value for name, value in self.headers.items()}))
        if server.listing_says is not None:
            self._answer(server.listing_says, streams=False)
        else:
            self._send(200, json.dumps(server.listing()).encode())

    def do_POST(self) -> None:
        server = self.server.scripted
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        embeds = bool(server.embeddings) and self.path == server.prefix + server.embeddings
        if server.keeps:
            (server.embedded if embeds else server.requests).append(Recorded("POST", self.path, headers, body, raw))
        if embeds:
            self._answer(server.embeds(body), streams=False)
            return
        if self.path != server.prefix + server.completions:
            self._send(404, b'{"error": {"message": "no such route"}}')
            return
        if server.latency:
            server.closing.wait(server.latency)
        self._answer(server.script(body["messages"], body.get("tools") or []), streams=bool(body.get("stream")))

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


class ScriptedOpenAI(ScriptedServer):
    """Chat Completions. `usage` is the wire's own object."""

    prefix = "/v1"
    completions = "/chat/completions"
    embeddings = "/embeddings"
    usage: ClassVar[Wire] = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}

    def listing(self) -> Wire:
        return {
            "object": "list",
            "data": [{"object": "model", "owned_by": "test", "created": 1} | model for model in self.models],
        }

    def whole(self, say: Wire) -> Wire:
        message: Wire = {"role": "assistant", "content": say.get("content")}
        if say.get("reasoning"):
            message["reasoning_content"] = say["reasoning"]
        if calls := say.get("tool_calls"):
            message["tool_calls"] = [self._call(call) for call in calls]
        choice = {"index": 0, "message": message, "finish_reason": self._finish(say)}
        return self._frame(choices=[choice], usage=say.get("usage", self.usage), object="chat.completion")

    def events(self, say: Wire) -> Iterator[bytes]:
        yield self._delta({"role": "assistant", "content": ""})
        for piece in pieces(say.get("reasoning") or ""):
            yield self._delta({"reasoning_content": piece})
        for piece in pieces(say.get("content") or ""):
            yield self._delta({"content": piece})
        for index, call in enumerate(say.get("tool_calls") or ()):
            yield self._delta({"tool_calls": [self._call(call | {"arguments": ""}) | {"index": index}]})
            for piece in pieces(as_text(call["arguments"])):
                yield self._delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield self._delta({}, self._finish(say))
        yield self._event(self._frame(choices=[], usage=say.get("usage", self.usage), object="chat.completion.chunk"))
        yield b"data: [DONE]\n\n"

    def _finish(self, say: Wire) -> Any:
        return say.get("finish_reason", "tool_calls" if say.get("tool_calls") else "stop")

    def _call(self, call: Wire) -> Wire:
        return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": as_text(call["arguments"])}}

    def _delta(self, delta: Wire, finish: Any = None) -> bytes:
        return self._event(
            self._frame(
                choices=[{"index": 0, "delta": delta, "finish_reason": finish}], usage=None, object="chat.completion.chunk"
            )
        )

    def _frame(self, **fields: Any) -> Wire:
        return {"id": "chatcmpl-1", "created": 1, "model": "test-model-2026"} | fields

    def _event(self, data: Wire) -> bytes:
        return f"data: {json.dumps(data)}\n\n".encode()


class ScriptedAnthropic(ScriptedServer):
    """Messages. `usage` is the wire's own object; `signature` seals the thinking."""

    completions = "/v1/messages"
    usage: ClassVar[Wire] = {"input_tokens": 12, "output_tokens": 5}

    def listing(self) -> Wire:
        rows = [{"type": "model", "display_name": "Test", "created_at": "2026-01-01T00:00:00Z"} | model for model in self.models]
        return {"data": rows, "has_more": False, "first_id": None, "last_id": None}

    def whole(self, say: Wire) -> Wire:
        return self._frame() | {
            "content": self._blocks(say),
            "stop_reason": self._stop(say),
            "usage": say.get("usage", self.usage),
        }

    def events(self, say: Wire) -> Iterator[bytes]:
        used = say.get("usage", self.usage)
        start = self._frame() | {"content": [], "stop_reason": None, "usage": used | {"output_tokens": 1}}
        yield self._event("message_start", message=start)
        yield self._event("ping")
        for index, block in enumerate(self._blocks(say)):
            yield self._event("content_block_start", index=index, content_block=self._opened(block))
            for delta in self._deltas(block):
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        usage: ClassVar[Wire] = {"output_tokens": used.get("output_tokens", 0)}
        yield self._event("message_delta", delta={"stop_reason": self._stop(say), "stop_sequence": None}, usage=usage)
        yield self._event("message_stop")

    def _frame(self) -> Wire:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model-2026", "stop_sequence": None}

    def _stop(self, say: Wire) -> Any:
        finish = say.get("finish_reason", "tool_calls" if say.get("tool_calls") else "stop")
        names = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
        return names.get(finish, finish)

    def _blocks(self, say: Wire) -> list[Wire]:
        blocks: list[Wire] = []
        if say.get("reasoning"):
            blocks.append({"type": "thinking", "thinking": say["reasoning"], "signature": say.get("signature", "sealed")})
        if say.get("redacted"):
            blocks.append({"type": "redacted_thinking", "data": say["redacted"]})
        if say.get("content"):
            blocks.append({"type": "text", "text": say["content"]})
        for call in say.get("tool_calls") or ():
            blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]})
        return blocks

    def _opened(self, block: Wire) -> Wire:
        match block["type"]:
            case "thinking":
                return {"type": "thinking", "thinking": "", "signature": ""}
            case "text":
                return {"type": "text", "text": ""}
            case "tool_use":
                return block | {"input": {}}
            case _:
                return block

    def _deltas(self, block: Wire) -> Iterator[Wire]:
        match block["type"]:
            case "thinking":
                yield from ({"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"]))
                yield {"type": "signature_delta", "signature": block["signature"]}
            case "text":
                yield from ({"type": "text_delta", "text": piece} for piece in pieces(block["text"]))
            case "tool_use":
                yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces(as_text(block["input"])))

    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()
