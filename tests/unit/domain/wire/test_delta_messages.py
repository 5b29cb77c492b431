"""Pieces of a reply as followers of tokens are shown them (API 6.3)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from hibernaut.domain.wire.delta_messages import render_delta
from hibernaut.schemas.runs.events import DeltaEvent, DeltaType

MESSAGE = "message-01a20138-85dd-4000-9f77-fb88dc3c3280"
RUN = "run-01a20138-85dd-4000-9f77-fb88dc3c3280"
COMMON = {
    "id": MESSAGE,
    "date": "2026-11-21T21:24:15+00:00",
    "name": None,
    "otid": "01a20138-85dd-4000-9f77-fb88dc3c3282",
    "sender_id": None,
    "step_id": "step-1",
    "is_err": None,
    "seq_id": None,
    "run_id": RUN,
}


def wire(kind: DeltaType, **fields: Any) -> dict[str, Any]:
    at = datetime(2026, 11, 21, 21, 24, 15, 7, tzinfo=UTC)
    delta = DeltaEvent(message_type=kind, message_id=MESSAGE, step_id="step-1", index=2, at=at, **fields)
    found: dict[str, Any] = json.loads(render_delta(delta, RUN).model_dump_json())
    return found


def test_a_piece_of_text_is_a_message_of_its_own() -> None:
    assert wire("assistant_message", text="Hel") == COMMON | {"message_type": "assistant_message", "content": "Hel"}


@pytest.mark.parametrize(("native", "source"), [(True, "reasoner_model"), (False, "non_reasoner_model")])
def test_a_piece_of_reasoning_says_whose_it_is(native: bool, source: str) -> None:
    shown = wire("reasoning_message", text="Hm", native=native)
    assert shown == COMMON | {
        "message_type": "reasoning_message",
        "source": source,
        "reasoning": "Hm",
        "signature": None,
    }


def test_a_calls_first_piece_has_its_name_and_no_arguments() -> None:
    call = {"name": "roll", "tool_call_id": "call_1"}
    shown = wire("tool_call_message", name="roll", call_id="call_1")
    assert shown == COMMON | {"message_type": "tool_call_message", "tool_call": call, "tool_calls": call}


def test_the_further_pieces_of_a_call_have_only_arguments() -> None:
    call = {"arguments": '{"x', "tool_call_id": "call_1"}
    shown = wire("tool_call_message", text='{"x', call_id="call_1")
    assert (shown["tool_call"], shown["tool_calls"]) == (call, call)


def test_a_piece_of_an_approval_request_says_null_for_what_it_lacks() -> None:
    call = {"name": None, "arguments": '{"x', "tool_call_id": "call_1"}
    shown = wire("approval_request_message", text='{"x', call_id="call_1")
    assert shown == COMMON | {"message_type": "approval_request_message", "tool_call": call, "tool_calls": call}
    first = wire("approval_request_message", name="roll", call_id="call_1")
    assert first["tool_call"] == {"name": "roll", "arguments": None, "tool_call_id": "call_1"}
