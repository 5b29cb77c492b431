"""Streams of the Responses wire as networks and servers deliver them: cut at any byte, with other line ends, comments and
members.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, get_args

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseStreamEvent

from hibernaut.adapters.model.openai.responses_replies import SentRequest, streamed, whole
from hibernaut.adapters.model.wire.http_stream import HttpAnswer
from hibernaut.ports.model import Delta, ModelReply
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelConnection
from tests.contracts.model.spoken import thoughts
from tests.support.responses_server import ScriptedResponses, function_call, message, reasoning

EVENTS = {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(ResponseStreamEvent)[0])}
ASKED = SentRequest("openai", "gpt-5.6-sol", {})
SERVER = object.__new__(ScriptedResponses)  # its forms, without its socket
TEXTS = st.text(alphabet=st.sampled_from('ab \n\r"{}:é\u2028\U0001f600'), min_size=1, max_size=20)
ITEMS = st.one_of(
    st.builds(lambda parts, sealed: reasoning(*parts, sealed=sealed), st.lists(TEXTS, max_size=3), st.booleans()),
    st.builds(
        lambda text, phase, refusal: message(text, phase=phase, refusal=refusal),
        TEXTS,
        st.sampled_from([None, "commentary", "final_answer"]),
        st.booleans(),
    ),
    st.builds(
        lambda values, number: function_call("ring", values, f"call_{number}"),
        st.dictionaries(TEXTS, TEXTS, max_size=2),
        st.integers(1, 1000),
    ),
)
SAYS = st.builds(
    lambda items, last, finish: {"items": [*items, last], "finish_reason": finish},
    st.lists(ITEMS, max_size=4),
    st.one_of(st.builds(message, TEXTS), st.just(function_call("ring", {}, "call_0"))),
    st.sampled_from(["stop", "length", "content_filter", "a_new_reason"]),
)
NOISE = [
    b": keep-alive",
    b'event: ping\ndata: {"type": "ping"}',
    b"retry: 3000",
    b'data: {"type": "response.a_later_event", "output_index": 0, "delta": "no"}',
    b'data: {"type": "response.audio.delta", "delta": "AAAA"}',
]


def shuffled(draw: Any, event: bytes) -> bytes:
    """The same event with its members, and its own lines, in another order."""
    name, data = event.decode().strip().split("\n")
    fields = json.loads(data.removeprefix("data: "))
    order = draw(st.permutations(list(fields)))
    data = "data:" + json.dumps({key: fields[key] for key in order}, ensure_ascii=draw(st.booleans()))
    return "\n".join(draw(st.permutations([name, data]))).encode()


def stream(draw: Any, say: JsonObject) -> bytes:
    """The stream of a reply as some server might write it."""
    written: list[bytes] = []
    for event in SERVER.events(say):
        written += draw(st.lists(st.sampled_from(NOISE), max_size=1))
        written.append(shuffled(draw, event))
    raw = b"".join(each + b"\n\n" for each in written)
    return raw.replace(b"\n", b"\r\n") if draw(st.booleans()) else raw


def read(raw: bytes, places: list[int], say: Any) -> ModelReply:
    """The reply that the bytes make up, where they arrive in pieces that end at these places."""

    def chunks() -> Iterator[bytes]:
        for start, end in zip([0, *places], [*places, len(raw)], strict=True):
            yield raw[start:end]

    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=chunks())
    return streamed(ASKED, HttpAnswer("openai", response, math.inf, lambda: None).events(), say, "req-1")


@given(SAYS)
def test_the_double_says_what_the_sdk_reads(say: JsonObject) -> None:
    """A double whose replies OpenAI's own types refuse would prove nothing (`openai` as locked)."""
    used = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    known = say | {"usage": used, "finish_reason": "length" if say["finish_reason"] == "a_new_reason" else say["finish_reason"]}
    Response.model_validate(SERVER.whole(known), strict=True)
    for event in SERVER.events(known):
        fields = json.loads(event.split(b"data: ")[1])
        EVENTS[fields["type"]].model_validate(fields, strict=True)


@given(st.data(), SAYS)
def test_however_a_stream_arrives_it_is_the_whole_in_pieces(data: st.DataObject, say: JsonObject) -> None:
    raw = stream(data.draw, say)
    places = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12)))
    heard: list[Delta] = []
    reply = read(raw, places, heard.append)
    assert reply == whole(ASKED, SERVER.whole(say), "req-1")
    assert "".join(delta.text for delta in heard if delta.kind == "text") == reply.text
    if len(reply.reasoning) <= 1:
        assert "".join(delta.text for delta in heard if delta.kind == "reasoning") == thoughts(reply)
    for number, call in enumerate(reply.tool_calls):
        own = [delta for delta in heard if delta.kind.startswith("tool") and delta.index == number]
        assert {delta.call_id for delta in own} == {call.id}
        assert "".join(delta.text for delta in own if delta.kind == "tool_name") == call.name
        assert "".join(delta.text for delta in own if delta.kind == "tool_arguments") == call.arguments


@settings(max_examples=20)
@given(SAYS)
def test_each_byte_may_be_an_arrival_of_its_own(say: JsonObject) -> None:
    raw = b"".join(SERVER.events(say))
    assert read(raw, list(range(1, len(raw))), lambda _: None) == whole(ASKED, SERVER.whole(say), "req-1")


@given(st.data(), SAYS)
def test_a_stream_that_ends_before_its_last_event_is_a_broken_connection(data: st.DataObject, say: JsonObject) -> None:
    *before, last = SERVER.events(say)
    raw = b"".join(before)
    first = len(before[0])
    upto = data.draw(st.integers(first, len(raw) + len(last.rstrip()) - 1))
    with pytest.raises(ModelConnection):
        read((raw + last)[:upto], [], lambda _: None)


@given(SAYS, st.integers(0, 3), st.booleans())
def test_a_whole_item_says_what_its_pieces_left_out(say: JsonObject, most: int, only_last: bool) -> None:
    """Some servers send an item in few pieces or in none, and some only the last event."""
    kept: list[bytes] = []
    told: dict[int, int] = {}
    for event in SERVER.events(say):
        fields = json.loads(event.split(b"data: ")[1])
        if "delta" in fields:
            told[fields["output_index"]] = told.get(fields["output_index"], 0) + 1
            if told[fields["output_index"]] > most:
                continue
        kept.append(event)
    heard: list[Delta] = []
    reply = read(b"".join(kept[-1:] if only_last else kept), [], heard.append)
    assert reply == whole(ASKED, SERVER.whole(say), "req-1")
    assert "".join(delta.text for delta in heard if delta.kind == "text") == reply.text
