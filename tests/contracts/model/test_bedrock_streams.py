"""Event streams of Bedrock as networks deliver them: cut at any byte, in pieces of any size, damaged, and with exceptions
inside.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.adapters.model.anthropic.anthropic_replies import streamed, whole
from hibernaut.adapters.model.bedrock.event_stream import CONTENT_TYPE, chunks, events
from hibernaut.adapters.model.wire.http_stream import HttpAnswer
from hibernaut.ports.model import Delta, ModelReply
from hibernaut.schemas.errors import (
    InvalidModelResponse,
    ModelBadRequest,
    ModelConnection,
    ModelError,
    ModelOverloaded,
    ModelRateLimit,
    ModelTimeout,
)
from tests.contracts.model.test_anthropic_streams import ORIGIN, REPLIES, TEXTS
from tests.support.event_frames import chunk, event, exception, frame
from tests.support.messages_streams import message, redacted, stream, text, thinking, use

TOLD = [thinking("é", "s"), text("\u2028"), use("a", b="c"), redacted("d"), use("e")], "tool_use"


def frames(blocks: list[Any], stop: str) -> list[bytes]:
    return [chunk(json.loads(each.decode().partition("data: ")[2])) for each in stream(blocks, stop)]


def answer(raw: bytes, places: Sequence[int] = ()) -> HttpAnswer:
    """The bytes as a response that arrives in pieces which end at these places."""

    def pieces() -> Iterator[bytes]:
        for start, end in zip([0, *places], [*places, len(raw)], strict=True):
            yield raw[start:end]

    response = httpx2.Response(200, headers={"content-type": CONTENT_TYPE}, content=pieces())
    return HttpAnswer("bedrock", response, math.inf, lambda: None)


def read(raw: bytes, places: Sequence[int] = (), say: Any = lambda _: None) -> ModelReply:
    return streamed(ORIGIN, chunks(answer(raw, places)), say, "req-1", sent={})


@given(st.data(), REPLIES)
def test_however_a_stream_arrives_it_is_the_whole_in_pieces(data: st.DataObject, said: Any) -> None:
    raw = b"".join(frames(*said))
    heard: list[Delta] = []
    reply = read(raw, sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12))), heard.append)
    assert reply == whole(ORIGIN, message(*said), "req-1", sent={})
    assert "".join(delta.text for delta in heard if delta.kind == "text") == reply.text


@settings(max_examples=10)
@given(REPLIES)
def test_each_byte_may_be_an_arrival_of_its_own(said: Any) -> None:
    raw = b"".join(frames(*said))
    assert read(raw, list(range(1, len(raw)))) == read(raw)


def test_a_stream_is_never_half_a_reply_at_whichever_byte_it_is_cut() -> None:
    sent = frames(*TOLD)
    raw, first, enough = b"".join(sent), len(sent[0]), len(b"".join(sent[:-1]))
    for upto in range(len(raw)):
        if upto >= enough:
            assert read(raw[:upto]) == read(raw)
        else:
            with pytest.raises(ModelConnection if upto >= first else InvalidModelResponse):
                read(raw[:upto])


@settings(max_examples=200)
@given(st.data())
def test_a_damaged_byte_is_an_error_of_ours_or_no_harm(data: st.DataObject) -> None:
    """Two checksums guard a frame, so that no damaged frame becomes text."""
    raw = bytearray(b"".join(frames([text("Hello.")], "end_turn")))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    try:
        assert read(bytes(raw)).text == "Hello."
    except ModelError:
        return


@given(st.binary(max_size=200))
def test_any_other_bytes_are_an_error_of_ours(raw: bytes) -> None:
    with pytest.raises(ModelError):
        read(raw)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("throttlingException", ModelRateLimit),
        ("modelTimeoutException", ModelTimeout),
        ("modelStreamErrorException", ModelOverloaded),
        ("internalServerException", ModelOverloaded),
        ("serviceUnavailableException", ModelOverloaded),
        ("validationException", ModelBadRequest),
    ],
)
def test_an_exception_in_the_stream_is_the_error_that_it_names(kind: str, error: type[ModelError]) -> None:
    with pytest.raises(error, match="bedrock: Sorry"):
        list(chunks(answer(frames(*TOLD)[0] + exception(kind, "Sorry."))))


def test_an_error_without_a_payload_is_one_too() -> None:
    raw = frame({":message-type": "error", ":error-code": "internalServerException", ":error-message": "Sorry."}, b"")
    with pytest.raises(ModelOverloaded, match="Sorry"):
        list(chunks(answer(raw)))


@pytest.mark.parametrize("payload", [b"", b"[]", b"no json", b'{"bytes": "%%%"}', b'{"bytes": "W10="}', b"{}"])
def test_a_chunk_without_an_event_is_an_invalid_response(payload: bytes) -> None:
    with pytest.raises(InvalidModelResponse):
        list(chunks(answer(frame({":message-type": "event", ":event-type": "chunk"}, payload))))


@given(TEXTS)
def test_events_of_other_kinds_are_told_by_their_kind(said: str) -> None:
    found = list(events(answer(event("metadata", {"said": said}) + event("later", {}))))
    assert [(each.kind, each.content) for each in found] == [("metadata", {"said": said}), ("later", {})]
    assert list(chunks(answer(event("later", {"bytes": "no"})))) == []
