"""Streams of the Messages wire as networks and servers deliver them: cut at any byte, with other line ends, pings and members."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.adapters.model.anthropic.anthropic_replies import Origin, streamed, whole
from hibernaut.adapters.model.wire.http_stream import HttpAnswer
from hibernaut.ports.model import Delta, ModelReply
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from tests.support.messages_streams import event, message, redacted, stream, text, thinking, use

ORIGIN = Origin("anthropic", "claude-sonnet-5")
TEXTS = st.text(alphabet=st.sampled_from('ab \n\r"{}:é\u2028\U0001f600'), min_size=1, max_size=12)
BLOCKS = st.one_of(
    st.builds(thinking, TEXTS, TEXTS),
    st.builds(redacted, TEXTS),
    st.builds(text, TEXTS),
    st.builds(
        lambda number, values: use(f"toolu_{number}", **values),
        st.integers(1, 99),
        st.dictionaries(st.sampled_from("abc"), TEXTS, max_size=2),
    ),
)
REPLIES = st.builds(
    lambda blocks, last, stop: ([*blocks, last], stop),
    st.lists(BLOCKS, max_size=3),
    st.one_of(st.builds(text, TEXTS), st.just(use("toolu_last"))),
    st.sampled_from(["end_turn", "tool_use", "stop_sequence", "pause_turn", "a_new_reason"]),
)
NOISE = [
    b": keep-alive",
    b'event: ping\ndata: {"type": "ping"}',
    b"retry: 3000",
    b'event: later\ndata: {"type": "a_later_event", "index": 0, "delta": {"type": "text_delta", "text": "no"}}',
    b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "a_later_delta", "text": "no"}}',
]


def shuffled(draw: Any, sent: bytes) -> bytes:
    """The same event with its members, and its own lines, in another order."""
    name, data = sent.decode().strip().split("\n")
    fields = json.loads(data.removeprefix("data: "))
    order = draw(st.permutations(list(fields)))
    data = "data:" + json.dumps({key: fields[key] for key in order}, ensure_ascii=draw(st.booleans()))
    return "\n".join(draw(st.permutations([name, data]))).encode()


def delivered(draw: Any, events: list[bytes]) -> bytes:
    """The stream as some server might write it. Nothing stands before its beginning."""
    written = [shuffled(draw, events[0])]
    for number, sent in enumerate(events[1:]):
        written += draw(st.lists(st.sampled_from(NOISE[:4] if number == 0 else NOISE), max_size=1))
        written.append(shuffled(draw, sent))
    raw = b"".join(each + b"\n\n" for each in written)
    return raw.replace(b"\n", b"\r\n") if draw(st.booleans()) else raw


def read(raw: bytes, places: list[int], say: Any = lambda _: None) -> ModelReply:
    """The reply that the bytes make up, where they arrive in pieces that end at these places."""

    def chunks() -> Iterator[bytes]:
        for start, end in zip([0, *places], [*places, len(raw)], strict=True):
            yield raw[start:end]

    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=chunks())
    return streamed(ORIGIN, HttpAnswer("anthropic", response, math.inf, lambda: None).events(), say, "req-1", sent={})


def at_once(blocks: list[Any], stop: str) -> ModelReply:
    return whole(ORIGIN, message(blocks, stop), "req-1", sent={})


@given(st.data(), REPLIES)
def test_however_a_stream_arrives_it_is_the_whole_in_pieces(data: st.DataObject, said: Any) -> None:
    raw = delivered(data.draw, stream(*said))
    places = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12)))
    heard: list[Delta] = []
    reply = read(raw, places, heard.append)
    assert reply == at_once(*said)
    assert reply.native is not None
    assert reply.native.items == said[0]
    assert "".join(delta.text for delta in heard if delta.kind == "text") == reply.text
    for number, call in enumerate(reply.tool_calls):
        own = [delta for delta in heard if delta.kind.startswith("tool") and delta.index == number]
        assert "".join(delta.text for delta in own if delta.kind == "tool_name") == call.name
        assert "".join(delta.text for delta in own if delta.kind == "tool_arguments") in (call.arguments, "")


@settings(max_examples=20)
@given(REPLIES)
def test_each_byte_may_be_an_arrival_of_its_own(said: Any) -> None:
    raw = b"".join(stream(*said))
    assert read(raw, list(range(1, len(raw)))) == at_once(*said)


def is_whole_or_broken(said: Any, upto: int, events: list[bytes]) -> None:
    """The reason to stop comes behind the last block: with it the reply is whole, without it the connection broke."""
    raw, enough = b"".join(events), len(b"".join(events[:-1]).rstrip(b"\n"))
    if upto >= enough:
        assert read(raw[:upto], []) == at_once(*said)
    else:
        with pytest.raises(ModelConnection if upto >= len(events[0].rstrip(b"\n")) else InvalidModelResponse):
            read(raw[:upto], [])


def test_a_stream_is_never_half_a_reply_at_whichever_byte_it_is_cut() -> None:
    said = [thinking("é", "s"), text("\u2028"), use("a", b="c"), redacted("d"), use("e")], "tool_use"
    events = stream(*said)
    for upto in range(len(b"".join(events))):
        is_whole_or_broken(said, upto, events)


@given(st.data(), REPLIES)
def test_no_streamed_reply_is_taken_for_whole_before_its_end(data: st.DataObject, said: Any) -> None:
    events = stream(*said)
    is_whole_or_broken(said, data.draw(st.integers(0, len(b"".join(events)) - 1)), events)


def test_blocks_may_come_in_turns() -> None:
    """Pieces name their block by its index, so that servers may write several blocks at a time."""
    first, second = [text("one")], [text("two")]
    alone = [stream(blocks, "end_turn") for blocks in (first, second)]
    moved = [each.replace(b'"index": 0', b'"index": 1') for each in alone[1][1:-2]]
    mixed = [alone[0][0], *(each for pair in zip(alone[0][1:-2], moved, strict=True) for each in pair), *alone[0][-2:]]
    assert read(b"".join(mixed), []) == at_once([*first, *second], "end_turn")


def test_a_call_whose_input_comes_whole_or_not_at_all_has_its_arguments() -> None:
    """Without arguments the API sends one empty piece; some servers send the input with the beginning of its block."""
    begins = event("message_start", message=message([]) | {"stop_reason": None})
    ends = [event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 1}), event("message_stop")]
    given_whole = event("content_block_start", index=0, content_block=use("a", x="1"))
    empty = [
        event("content_block_start", index=1, content_block=use("b")),
        event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": ""}),
    ]
    reply = read(b"".join([begins, given_whole, *empty, *ends]), [])
    assert [json.loads(call.arguments) for call in reply.tool_calls] == [{"x": "1"}, {}]
    assert reply.native is not None
    assert reply.native.items == [use("a", x="1"), use("b")]
