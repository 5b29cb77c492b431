"""The rows that a step adds to the log (RT 2.4, 2.11, 14). The stamp provides ids and times."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hibernaut.domain.tools.tool_returns import clipped, pack, storable
from hibernaut.domain.tools.tool_returns import heartbeat as heartbeat_text
from hibernaut.domain.turn import approvals
from hibernaut.domain.turn.actor import Actor, Call, CallResult
from hibernaut.domain.window.window import tokens_of
from hibernaut.schemas.content import Part, TextContent
from hibernaut.schemas.messages.message import FunctionCall, Message, Role, ToolCall, ToolReturn
from hibernaut.schemas.models.model_call import ModelReply
from hibernaut.schemas.runs.turn import Stamp
from hibernaut.schemas.tools.tool import DEFAULT_RETURN_LIMIT

WANTED = "You asked for another step with request_heartbeat=true; go on."
"""Clients find heartbeats by the words `request_heartbeat=true` (RT 14.3)."""
FAILED = "The call failed; you have another step to put it right."
REFUSED = "The call was refused by a rule; you have another step."
CHILD_RULE = "A tool rule asks for a further call."
CONTINUE_RULE = "A tool rule lets you go on after this call."


def must_call(names: Sequence[str]) -> str:
    """The notice for an agent that must still call one of these tools."""
    return f"Before you may stop you must still call: {', '.join(names)}."


def assistant(actor: Actor, reply: ModelReply, stamp: Stamp, calls: Sequence[Call], *, continues: bool = False) -> Message:
    """The assistant row of a reply with its parsed calls."""
    content: list[Part] = list(reply.reasoning)
    if reply.text:
        content.append(TextContent(text=storable(reply.text)))
    tool_calls = [
        ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=_arguments(actor, call, continues)))
        for call in calls
    ]
    row = _row(actor, stamp, stamp.assistant_id, "assistant", content)
    row.model, row.tool_calls, row.native = actor.config.model, tool_calls or None, reply.native
    row.tokens = tokens_of(row)
    return row


def _arguments(actor: Actor, call: Call, continues: bool) -> str:
    """The arguments serialized again as JSON; for legacy agents `request_heartbeat` tells whether the turn did continue (digest
    2.11).
    """
    values = {**call.args, "request_heartbeat": continues} if actor.spec.heartbeats else call.args
    return json.dumps(values, ensure_ascii=False)


def request(actor: Actor, reply: ModelReply, stamp: Stamp, calls: Sequence[Call]) -> tuple[Message, ...]:
    """The rows of a reply with calls that need an answer: an approval row holds these calls (API 5.4).

    Text and other calls have an assistant row of their own if there are other calls, or if followers have already seen the text.
    """
    need_approval = [call for call in calls if call.needs_approval]
    free = [call for call in calls if not call.needs_approval]
    text_row = assistant(actor, reply, stamp, free, continues=True)
    is_single = not free and not (stamp.streamed and text_row.content)
    raw = {call.id: call.arguments for call in approvals.pending_calls(actor, reply, calls)}
    request_row = _row(
        actor, stamp, stamp.assistant_id if is_single and not stamp.streamed else stamp.approval_id, "approval", []
    )
    request_row.content = text_row.content if is_single else []
    request_row.model, request_row.native = actor.config.model, reply.native if is_single else None
    request_row.tool_calls = [
        ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=raw[call.id])) for call in need_approval
    ]
    request_row.tokens = tokens_of(request_row)
    return (request_row,) if is_single else (text_row, request_row)


def returns(actor: Actor, stamp: Stamp, results: Sequence[CallResult]) -> Message:
    """One row with the returns of all calls, in order."""
    answers, content = [], []
    for result in results:
        tool = actor.tool(result.call.name)
        limit = tool.return_char_limit if tool else DEFAULT_RETURN_LIMIT
        packed = pack(result.status, clipped(result.message, limit), stamp.at, actor.timezone)
        stdout, stderr = list(result.stdout) or None, list(result.stderr) or None
        answers.append(
            ToolReturn(
                tool_call_id=result.call.id,
                status=result.status,
                func_response=packed,
                stdout=stdout,
                stderr=stderr,
                images=list(result.images),
            )
        )
        content.append(TextContent(text=packed))
    row = _row(actor, stamp, stamp.tool_id, "tool", list(content))
    row.tool_returns, row.tool_call_id, row.name = answers, results[0].call.id, results[0].call.name
    row.tokens = tokens_of(row)
    return row


def heartbeat(actor: Actor, stamp: Stamp, reason: str) -> Message:
    """The user row that informs the agent that its run continues."""
    text = heartbeat_text(reason, stamp.at, actor.timezone)
    row = _row(actor, stamp, stamp.heartbeat_id, "user", [TextContent(text=text)])
    row.tokens = tokens_of(row)
    return row


def _row(actor: Actor, stamp: Stamp, message_id: str, role: Role, content: list[Part]) -> Message:
    return Message.model_construct(
        id=message_id,
        role=role,
        content=content,
        agent_id=actor.agent_id,
        conversation_id=actor.conversation_id,
        run_id=actor.run_id,
        step_id=stamp.step_id,
        group_id=actor.group_id,
        created_at=stamp.at,
        tool_returns=[],
    )
