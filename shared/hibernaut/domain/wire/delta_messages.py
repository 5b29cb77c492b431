"""Converts the deltas of a reply to the messages of a token stream (Letta V1 API, API 6.3). Knows one delta at a time.

All deltas of a message have its id, its otid and its type; joined, they are the message that the log will contain.
"""

from __future__ import annotations

from typing import Literal, TypedDict, assert_never

from hibernaut.schemas.base import message_date
from hibernaut.schemas.ids import derived_otid
from hibernaut.schemas.messages.letta_message import (
    ApprovalRequestDeltaMessage,
    AssistantMessage,
    DeltaMessage,
    ReasoningMessage,
    ToolCallDelta,
    ToolCallDeltaMessage,
)
from hibernaut.schemas.runs.events import DeltaEvent


class _DeltaFields(TypedDict):
    """The fields that all messages of a stream share."""

    id: str
    date: str
    otid: str
    step_id: str
    run_id: str


def render_delta(delta: DeltaEvent, run_id: str) -> DeltaMessage:
    """The stream message for one delta."""
    common = _DeltaFields(
        id=delta.message_id,
        date=message_date(delta.at),
        otid=derived_otid(delta.message_id, delta.index),
        step_id=delta.step_id,
        run_id=run_id,
    )
    match delta.message_type:
        case "reasoning_message":
            source: Literal["reasoner_model", "non_reasoner_model"] = "reasoner_model" if delta.native else "non_reasoner_model"
            return ReasoningMessage(source=source, reasoning=delta.text, **common)
        case "assistant_message":
            return AssistantMessage(content=delta.text, **common)
        case "tool_call_message":
            return ToolCallDeltaMessage(tool_call=_call(delta), tool_calls=_call(delta), **common)
        case "approval_request_message":
            return ApprovalRequestDeltaMessage(tool_call=_call(delta), tool_calls=_call(delta), **common)
    assert_never(delta.message_type)


def _call(delta: DeltaEvent) -> ToolCallDelta:
    """The first delta of a call has its name, and no arguments unless the model sent both at once."""
    return ToolCallDelta(name=delta.name, arguments=delta.text or None, tool_call_id=delta.call_id)
