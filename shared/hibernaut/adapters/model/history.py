"""Converts rows of a log to the turns that every provider accepts (RT 11.3 and 2.6).

It repairs what a provider would refuse, always in the same way: an approval request is merged into the preceding assistant turn,
approval answers are dropped, returns follow their calls, and calls without a return and returns without a call are omitted. If
two requests share their first rows, they share their first turns (invariant 10); the only exception is a call that gets its
return later. Knows no wire format.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.messages.message import Message, ToolCall, ToolReturn
from hibernaut.schemas.messages.native import Wire

LONGEST_ID = 40
_CLEAN_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_ID}}}")


@dataclass(slots=True)
class AssistantTurn:
    """An assistant turn: its rows in order, its answered calls, and their returns in the order of the calls."""

    rows: list[Message]
    calls: list[ToolCall] = field(default_factory=list)
    returns: dict[str, ToolReturn] = field(default_factory=dict)

    def native(self, wire: Wire, provider: str, model: str) -> list[JsonObject] | None:
        """The provider's own items of this turn, in order, if all of it came from this model; None: our form must be sent.

        Items are sent back only whole. Where a call has no return, or the turn has a row that another model wrote, they are of no
        use.
        """
        if self.rows[0].native is None:
            return None
        items: list[JsonObject] = []
        calls: set[str] = set()
        steps: set[str | None] = set()
        for row in self.rows:
            reply = row.native
            if reply is None:
                if row.step_id is None or row.step_id not in steps:
                    return None
                continue
            if (reply.wire, reply.provider, reply.model) != (wire, provider, model):
                return None
            items += reply.items
            calls.update(reply.calls)
            steps.add(row.step_id)
        return items if calls == {call.id for call in self.calls} else None


History = list["Message | AssistantTurn"]
"""User and system rows unchanged, assistant rows as turns."""


def history(rows: Sequence[Message]) -> History:
    """The turns of a log."""
    found: History = []
    turn: AssistantTurn | None = None
    for row in rows:
        role = row.role
        if role == "assistant" or (role == "approval" and row.tool_calls):
            if turn is not None and role == "approval" and found[-1] is turn and not turn.returns:
                turn.rows.append(row)
            else:
                turn = AssistantTurn([row])
                found.append(turn)
            if row.tool_calls:
                turn.calls += row.tool_calls
        elif role == "tool":
            if turn is not None:
                _take_returns(turn, row)
        elif role != "approval":
            found.append(row)
    return [each for each in found if not isinstance(each, AssistantTurn) or _keeps(each, last=each is found[-1])]


def assistant_text(rows: Sequence[Message]) -> str:
    """The assistant's text, and its thoughts from tool arguments (these are not native reasoning), one in a line."""
    if len(rows) == 1 and len(content := rows[0].content) == 1 and content[0].type == "text":
        return content[0].text  # nearly all turns: each step converts the whole window
    texts: list[str] = []
    for row in rows:
        for part in row.content:
            if part.type == "text":
                texts.append(part.text)
            elif part.type == "reasoning" and not part.is_native:
                texts.append(part.reasoning)
    return "\n".join(texts)


def _take_returns(turn: AssistantTurn, row: Message) -> None:
    call_ids = {call.id for call in turn.calls}
    returns = row.tool_returns or ([_legacy_return(row)] if row.tool_call_id else [])
    for each in returns:
        if each.tool_call_id in call_ids:
            turn.returns.setdefault(each.tool_call_id, each)


def _legacy_return(row: Message) -> ToolReturn:
    return ToolReturn(tool_call_id=row.tool_call_id or "", status="error" if row.is_err else "success", func_response=row.text())


def _keeps(turn: AssistantTurn, *, last: bool) -> bool:
    """Remove calls without a return, and duplicate calls. False: nothing of the turn remains."""
    had_calls = bool(turn.calls)
    if len(turn.returns) != len(turn.calls):
        turn.calls = [*{call.id: call for call in turn.calls if call.id in turn.returns}.values()]
    if turn.calls:
        return True
    return not (had_calls and last) and any([row.content for row in turn.rows])


@lru_cache(maxsize=10_000)
def wire_id(call_id: str) -> str:
    """A call's id in the form that providers accept: letters, digits, `_` and `-`, at most 40. Other ids are shortened with a
    hash and stay distinct.
    """
    if _CLEAN_ID.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:8]
    return f"{re.sub('[^A-Za-z0-9_-]', '_', call_id)[:20]}-{digest}"
