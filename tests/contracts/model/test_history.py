"""What of a reply in its provider's own form is sent back, and to whom."""

from __future__ import annotations

import pytest

from hibernaut.adapters.model.history import AssistantTurn
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall
from hibernaut.schemas.messages.native import NativeReply
from tests.support.rows import NOW

ITEMS = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "hello"}]


def spoken(
    *calls: str, native: list[str] | None = None, role: str = "assistant", step: str = "step-1", model: str = "m"
) -> Message:
    kept = None if native is None else NativeReply(wire="messages", provider="anthropic", model=model, items=ITEMS, calls=native)
    made = [ToolCall(id=call, function=FunctionCall(name="f", arguments="{}")) for call in calls]
    return Message(
        id=f"message-{len(calls)}{role}",
        role=role,  # type: ignore[arg-type]
        agent_id="agent-1",
        step_id=step,
        tool_calls=made or None,
        native=kept,
        created_at=NOW,
    )


def items(turn: AssistantTurn, wire: str = "messages", provider: str = "anthropic", model: str = "m") -> object:
    return turn.native(wire, provider, model)  # type: ignore[arg-type]


def test_items_go_back_whole_to_the_model_that_made_them() -> None:
    assert items(AssistantTurn([spoken(native=[])])) == ITEMS


@pytest.mark.parametrize("other", [{"wire": "chat"}, {"provider": "bedrock"}, {"model": "n"}])
def test_any_other_model_gets_our_form(other: dict[str, str]) -> None:
    assert items(AssistantTurn([spoken(native=[])]), **other) is None


def test_a_call_without_a_return_makes_the_items_useless() -> None:
    row = spoken("a", "b", native=["a", "b"])
    assert items(AssistantTurn([row], calls=(row.tool_calls or [])[:1])) is None
    assert items(AssistantTurn([row], calls=list(row.tool_calls or []))) == ITEMS


def test_calls_that_wait_for_approval_belong_to_the_reply_of_their_step() -> None:
    free, held = spoken("a", native=["a", "b"]), spoken("b", role="approval")
    turn = AssistantTurn([free, held], calls=[*(free.tool_calls or []), *(held.tool_calls or [])])
    assert items(turn) == ITEMS


def test_a_row_of_another_step_without_items_makes_the_turn_ours() -> None:
    first, second = spoken(native=[]), spoken("b", role="approval", step="step-2")
    assert items(AssistantTurn([first, second], calls=list(second.tool_calls or []))) is None
