"""Streams of Gemini in any pieces, with keep-alives, line ends and members as servers and proxies write them, and cut at every
byte.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.google.gemini_replies import streamed, whole
from hibernaut.adapters.model.wire.http_stream import HttpAnswer
from hibernaut.ports.model import Delta, ModelReply
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection

TEXTS = st.text(st.sampled_from('aé山\u2028\n"\\{:'), min_size=1, max_size=6)
USED = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17}
CALLS = st.builds(
    lambda name, args, id_, signed: {
        "functionCall": {"name": name, "args": args} | ({"id": id_} if id_ else {})
    } | ({"thoughtSignature": "c2ln"} if signed else {}),
    st.sampled_from(["ring", "tell"]), st.dictionaries(st.sampled_from("ab"), TEXTS, max_size=2), st.sampled_from(["", "fc-1"]), st.booleans(),
)  # fmt: skip
PARTS = st.one_of(
    st.builds(lambda text: {"text": text}, TEXTS),
    st.builds(lambda text: {"text": text, "thought": True}, TEXTS),
    st.builds(lambda text: {"text": text, "thoughtSignature": "c2ln"}, TEXTS),
    CALLS,
)
SAID = st.builds(lambda parts, last: [*parts, {"text": last}], st.lists(PARTS, max_size=4), TEXTS)
NOISE = [b"", b": keep-alive\n\n", b"event: message\n", b"retry: 3000\n", b"\n"]


def chunk(parts: Sequence[JsonObject], finish: str | None = None) -> JsonObject:
    candidate: JsonObject = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "m-001", "responseId": "r-1"} | ({"usageMetadata": USED} if finish else {})


def split(part: JsonObject) -> Iterator[JsonObject]:
    """A text without a signature comes in pieces; everything else comes whole."""
    if part.keys() <= {"text", "thought"}:
        yield from (part | {"text": letter} for letter in part["text"])
    else:
        yield part


def chunks(parts: Sequence[JsonObject]) -> list[JsonObject]:
    return [chunk([piece]) for part in parts for piece in split(part)] + [chunk([], "STOP")]


def read(raw: bytes, places: Sequence[int] = (), say: Any = lambda _: None) -> ModelReply:
    def pieces() -> Iterator[bytes]:
        for start, end in zip([0, *places], [*places, len(raw)], strict=True):
            yield raw[start:end]

    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=pieces())
    return streamed("google_ai", "m", HttpAnswer("google_ai", response, math.inf, lambda: None).events(), say, sent={})


def shuffled(rng: Random, value: Any) -> Any:
    """The value with the members of its objects in another order, but for the arguments of calls, whose order is the model's."""
    if isinstance(value, dict):
        names = rng.sample(sorted(value), len(value))
        return {name: value[name] if name == "args" else shuffled(rng, value[name]) for name in names}
    return [shuffled(rng, each) for each in value] if isinstance(value, list) else value


def delivered(rng: Random, events: Sequence[JsonObject]) -> bytes:
    """The stream as some server might write it."""
    raw = b""
    for each in events:
        data = json.dumps(shuffled(rng, each), ensure_ascii=rng.random() < 0.5)
        raw += rng.choice(NOISE) + f"{rng.choice(['data: ', 'data:'])}{data}\n\n".encode()
    return raw.replace(b"\n", b"\r\n") if rng.random() < 0.5 else raw


@given(SAID, st.integers(0, 2**32))
def test_however_a_stream_arrives_it_is_the_whole_in_pieces(said: list[JsonObject], seed: int) -> None:
    rng = Random(seed)
    raw = delivered(rng, chunks(said))
    heard: list[Delta] = []
    reply = read(raw, sorted(rng.sample(range(1, len(raw)), 12)), heard.append)
    at_once = whole("google_ai", "m", chunk(said, "STOP"), sent={})
    for name in ("text", "reasoning", "tool_calls", "finish_reason", "usage", "model", "request_id", "native"):
        assert getattr(reply, name) == getattr(at_once, name), name
    assert "".join(delta.text for delta in heard if delta.kind == "text") == reply.text
    for number, call in enumerate(reply.tool_calls):
        own = [delta for delta in heard if delta.kind.startswith("tool") and delta.index == number]
        assert {delta.call_id for delta in own} == {call.id}
        assert "".join(delta.text for delta in own if delta.kind == "tool_arguments") == call.arguments


def test_a_stream_is_never_half_a_reply_at_whichever_byte_it_is_cut() -> None:
    said: list[JsonObject] = [
        {"text": "é\u2028", "thought": True},
        {"text": "I ring."},
        {"functionCall": {"name": "ring", "args": {"x": "山"}}, "thoughtSignature": "c2ln"},
    ]
    events = [f"data: {json.dumps(each, ensure_ascii=False)}\n\n".encode() for each in chunks(said)]
    raw = b"".join(events)
    first, enough = len(events[0].rstrip()), len(raw.rstrip())
    reply = read(raw)
    for upto in range(len(raw)):
        if upto >= enough:
            assert read(raw[:upto]) == reply
        else:
            with pytest.raises(ModelConnection if upto >= first else InvalidModelResponse):
                read(raw[:upto])
