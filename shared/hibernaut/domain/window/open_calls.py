"""Calls without a return, and the row that closes them, so that every prefix of a log is valid (invariant 6). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.tools.tool_returns import pack
from hibernaut.domain.window.window import tokens_of
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message, ToolReturn

INTERRUPTED = "The call was interrupted. It may have happened or not; check before you repeat it."

LAST_ROWS = 4
"""The number of rows at the end of a log that are searched for open calls."""


@immutable
class OpenCall:
    """A call without a return, and the step that made it."""

    id: str
    name: str
    step_id: str | None = None


def open_at_end(rows: Sequence[Message]) -> list[OpenCall]:
    """The open calls at the end of a log, in order; `rows` are its last LAST_ROWS rows, oldest first."""
    open_calls: list[OpenCall] = []
    for row in rows:
        if row.role == "assistant" or (row.role == "approval" and row.tool_calls):
            if row.role == "assistant":
                open_calls = []
            open_calls += [OpenCall(call.id, call.function.name, row.step_id) for call in row.tool_calls or ()]
        elif row.role == "tool":
            returned_ids = [each.tool_call_id for each in row.tool_returns] or [row.tool_call_id or ""]
            open_calls = [call for call in open_calls if call.id not in returned_ids]
        elif row.role != "approval":
            open_calls = []  # a later row follows: only open calls at the end of a log can be closed
    return open_calls


@immutable
class Closing:
    """The attributes of the closing row: its owner, ids and time."""

    message_id: str
    agent_id: str
    conversation_id: str | None
    run_id: str | None
    at: datetime
    timezone: str


def closed(calls: Sequence[OpenCall], text: str, closing: Closing) -> Message:
    """One row with an error return for each call; all returns have the same `text`."""
    packed = pack("error", text, closing.at, closing.timezone)
    row = Message(
        id=closing.message_id,
        role="tool",
        content=[TextContent(text=packed) for _ in calls],
        agent_id=closing.agent_id,
        conversation_id=closing.conversation_id,
        run_id=closing.run_id,
        step_id=calls[0].step_id,
        tool_call_id=calls[0].id,
        name=calls[0].name,
        tool_returns=[ToolReturn(tool_call_id=call.id, status="error", func_response=packed) for call in calls],
        created_at=closing.at,
    )
    row.tokens = tokens_of(row)
    return row
