"""From pieces of a reply to what those who follow its tokens are shown (Letta V1 API, digest 6.3). Knows one piece at a time.

All pieces of a message bear its id, its otid and its type; put together they are the message that the log will hold.
"""

from __future__ import annotations

from typing import Literal, TypedDict, assert_never

from hibernaut.schemas.base import message_date
from hibernaut.schemas.events import DeltaEvent
from hibernaut.schemas.ids import derived_otid
from hibernaut.schemas.letta_message import (
    ApprovalRequestDeltaMessage,
    AssistantMessage,
    DeltaMessage,
    ReasoningMessage,
    ToolCallDelta,
    ToolCallDeltaMessage,
)


class _Common(TypedDict):
    id: str
    date: str
    otid: str
    step_id: str
    run_id: str


def render_delta(delta: DeltaEvent, run_id: str) -> DeltaMessage:
    """What the piece is shown as."""
    common = _Common(
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
    """A call's first piece has its name, and no arguments yet unless the model wrote them in one go."""
    return ToolCallDelta(name=delta.name, arguments=delta.text or None, tool_call_id=delta.call_id)
