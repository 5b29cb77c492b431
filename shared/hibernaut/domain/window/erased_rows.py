"""The erasure of a person's messages from the rows of a log. Pure.

Rows stay where they are, so that calls keep their returns, forks their shared rows, and cursors their places; their contents are
removed. The turn of a person is their message and every row up to the next message from somebody else, and each further row of
the same run. In a group, the answers of other agents belong to it too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hibernaut.schemas.agents.erasure import LogCursor
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.ids import derived_otid
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall, ToolReturn

ERASED = "(erased)"
"""The text that replaces the contents of a row and the sender of an erased message: a worker that resumes recognises the turn by
it.
"""
_OF_AN_ANSWER = ("type", "tool_call_id", "approve", "status")
"""The retained fields of an answer to an approval request."""


def erase_rows(rows: Sequence[Message], cursor: LogCursor, senders: Collection[str] | None) -> tuple[list[Message], LogCursor]:
    """The rows of a page of a log that are to be rewritten, as they are then, and the cursor behind the page.

    `cursor`: the cursor before the page. `senders`: the values of `sender_id` that mean the person; None: every row is to be
    erased. Summaries after an erased row are erased, because they may repeat it. The system message is compiled anew elsewhere.
    """
    found: list[Message] = []
    for row in rows:
        if row.role == "system" and row.otid is None and row.sender_id is None:
            cursor = cursor.model_copy(update={"after": row.id})
            continue
        cursor = _at(row, cursor, senders)
        belongs_to_person = (
            senders is None or cursor.within or bool(row.run_id and row.run_id == cursor.run_id and not _is_typed(row))
        )
        belongs_to_person = belongs_to_person or (
            cursor.erased and _is_relayed(row) and row.sender_id is None
        )  # A digest of earlier messages.
        if belongs_to_person or (row.role == "summary" and cursor.erased):
            cursor = cursor.model_copy(update={"erased": True, "rows": cursor.rows + 1})
            if not is_erased(row):
                found.append(erased(row))
    return found, cursor


def _at(row: Message, at: LogCursor, senders: Collection[str] | None) -> LogCursor:
    if senders is None or not _is_typed(row):
        return at.model_copy(update={"after": row.id})
    if _is_relayed(row) and row.sender_id not in senders:
        return at.model_copy(update={"after": row.id})
    spoke = row.sender_id in senders or row.sender_id == ERASED
    return at.model_copy(update={"after": row.id, "within": spoke, "run_id": (row.run_id or "") if spoke else at.run_id})


def _is_typed(row: Message) -> bool:
    """Whether a row is a message from outside: no step of a run has written it."""
    return row.role in ("user", "system") and row.step_id is None


def _is_relayed(row: Message) -> bool:
    """Whether a row reports the sayings of an agent's group to the agent. It begins no turn of a person."""
    from_server = row.role == "system" and row.group_id is not None
    return from_server and (row.sender_id is None or row.sender_id.startswith("agent-"))


def erased(row: Message) -> Message:
    """The row without its contents. Its calls and returns keep their ids and names."""
    calls = [ToolCall(id=one.id, function=FunctionCall(name=one.function.name, arguments="{}")) for one in row.tool_calls or ()]
    returns = [ToolReturn(tool_call_id=one.tool_call_id, status=one.status, func_response=ERASED) for one in row.tool_returns]
    answers = [{name: one[name] for name in _OF_AN_ANSWER if name in one} for one in row.approvals or ()]
    return Message(
        id=row.id,
        role=row.role,
        content=[TextContent(text=ERASED)],
        agent_id=row.agent_id,
        conversation_id=row.conversation_id,
        model=row.model,
        tool_calls=calls or row.tool_calls,
        tool_call_id=row.tool_call_id,
        tool_returns=returns,
        # An otid tells a client's system message from the compiled one.
        otid=derived_otid(row.id, 0) if row.role == "system" else None,
        sender_id=ERASED if row.sender_id else None,
        group_id=row.group_id,
        run_id=row.run_id,
        step_id=row.step_id,
        approve=row.approve,
        approval_request_id=row.approval_request_id,
        approvals=answers or row.approvals,
        is_err=row.is_err,
        created_at=row.created_at,
    )


def is_erased(row: Message) -> bool:
    """Whether the contents of a row are already erased."""
    return row == erased(row)
