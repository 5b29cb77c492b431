"""Calls that wait for a person or for the client: which calls wait, how an answer resolves each of them, and the text for the
model.

Pure: values in, values out (Letta V1 API, API 5.4; RT 2.6).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.tools.tool_returns import repair_arguments
from hibernaut.domain.turn.actor import Actor, Call, CallResult
from hibernaut.domain.window.window import tokens_of
from hibernaut.schemas.content import ImageContent, TextContent
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.messages.letta_message import ApprovalReturn, WireToolReturn
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.model_call import ModelReply
from hibernaut.schemas.runs.approval import PendingApproval, PendingCall, Resolution, Verdict
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import ApprovalCreate, ClientTool, ToolReturnCreate

INTERRUPTED = "Nobody approved the call before another message came."
OVERDUE = "Nobody answered in time."
CANCELLED = "The user cancelled the request, so the tool call was denied."
KEEP_ALIVE = (
    "<system-alert>Automated keep-alive ping: the tool calls were answered before, and that run was cancelled. "
    "Go on from here.</system-alert>"
)
"""What the model reads where the same answer comes again after its run was cancelled, without a message (API 5.4)."""
NO_RESULT = "This tool is run by the client, and the client sent no result of it."


def pending_calls(actor: Actor, reply: ModelReply, calls: Sequence[Call]) -> tuple[PendingCall, ...]:
    """The pending calls of a reply: first those that need an answer, then the others."""
    pending = [
        PendingCall(
            id=call.id,
            name=call.name,
            arguments=_arguments(call, raw.arguments),
            held=call.needs_approval,
            client=call.name in actor.client_tools,
            refusal=call.refusal,
            decision=call.decision,
        )
        for call, raw in zip(calls, reply.tool_calls, strict=False)
    ]
    return (*(call for call in pending if call.held), *(call for call in pending if not call.held))


def _arguments(call: Call, raw: str) -> str:
    """The model's own text; serialized again if a rule filled in arguments."""
    read = repair_arguments(raw)
    if call.refusal is not None or read.values == call.args:
        return raw
    return json.dumps({**call.args, **({"request_heartbeat": True} if call.request_heartbeat else {})}, ensure_ascii=False)


def call_of(pending: PendingCall) -> Call:
    """The pending call as a call to run now."""
    read = repair_arguments(pending.arguments)
    heartbeat = bool(read.request_heartbeat)
    return Call(pending.id, pending.name, read.values, heartbeat, pending.refusal, decision=pending.decision)


def to_run(resolution: Resolution) -> tuple[Call, ...]:
    """The calls that run before the commit of their returns, including refused ones."""
    return tuple(call_of(verdict.call) for verdict in resolution.verdicts if verdict.decision == "run")


def results_of(resolution: Resolution, executed: Sequence[CallResult]) -> tuple[CallResult, ...]:
    """One result for each verdict, in the order of the verdicts; `executed` are the results of `to_run`."""
    executed_results = iter(executed)
    return tuple(next(executed_results) if verdict.decision == "run" else _result(verdict) for verdict in resolution.verdicts)


def _result(verdict: Verdict) -> CallResult:
    call, client_return = call_of(verdict.call), verdict.client_return
    if client_return is None:
        text = denial(verdict.reason)
        return CallResult(call, "error", text, text)
    parts = client_return.tool_return
    if isinstance(parts, str):
        return CallResult(
            call, client_return.status, parts, parts, tuple(client_return.stdout or ()), tuple(client_return.stderr or ())
        )
    text = "\n".join(part.text for part in parts if isinstance(part, TextContent))
    images = tuple(part for part in parts if isinstance(part, ImageContent))
    return CallResult(
        call, client_return.status, text, text, tuple(client_return.stdout or ()), tuple(client_return.stderr or ()), images
    )


def denial(reason: str | None) -> str:
    """The text that the model reads for a denied call (the wire's own text, API 5.4)."""
    return f"Error: request to call tool denied. User reason: {reason}"


def denied(pending: PendingApproval, reason: str) -> Resolution:
    """The resolution that denies every call with this reason, also those that wait without an approval request of their own."""
    verdicts = [
        Verdict(call=call, decision="run" if call.refusal is not None else "deny", reason=reason) for call in pending.calls
    ]
    return Resolution(step_id=pending.step_id, verdicts=verdicts)


def resolution_of(pending: PendingApproval, answer: ApprovalCreate | ToolReturnCreate) -> Resolution:
    """The resolution of the calls by an answer. Raises: InvalidArgument if the answer does not name exactly the pending calls."""
    answers = {item.tool_call_id: item for item in items_of(pending, answer)}
    expected = [call.id for call in pending.held]
    received = [item.tool_call_id for item in items_of(pending, answer)]
    if sorted(received) != sorted(expected):
        raise InvalidArgument(f"Invalid tool call IDs. Expected '{expected}', but received '{received}'.")
    return Resolution(step_id=pending.step_id, verdicts=[_verdict(call, answers.get(call.id)) for call in pending.calls])


def items_of(pending: PendingApproval, answer: ApprovalCreate | ToolReturnCreate) -> list[ApprovalReturn | WireToolReturn]:
    """The items of an answer, one for each call; the deprecated form for a single call is converted. Raises: InvalidArgument."""
    if isinstance(answer, ToolReturnCreate):
        return list(answer.tool_returns)
    if answer.approvals is not None:
        return list(answer.approvals)
    if answer.approve is None:
        raise InvalidArgument("An approval must say 'approvals', or 'approve' for a single call.")
    valid_ids = {pending.request_id, *(call.id for call in pending.held)}
    if answer.approval_request_id is not None and answer.approval_request_id not in valid_ids:
        raise InvalidArgument(
            f"Invalid approval request ID. Expected '{pending.request_id}', but received '{answer.approval_request_id}'."
        )
    if len(pending.held) > 1:
        expected = [call.id for call in pending.held]
        raise InvalidArgument(
            f"Invalid tool call IDs. Expected '{expected}', but received '[]': answer each call by 'approvals'."
        )
    return [ApprovalReturn(tool_call_id=pending.held[0].id, approve=answer.approve, reason=answer.reason)]


def refusals(pending: PendingApproval, reason: str) -> ApprovalCreate:
    """An answer that denies every call."""
    return ApprovalCreate(approvals=[ApprovalReturn(tool_call_id=call.id, approve=False, reason=reason) for call in pending.held])


def answer_row(
    record: PendingApproval, answer: ApprovalCreate | ToolReturnCreate, run: StoredRun, message_id: str, at: datetime
) -> Message:
    """The answer as a row of the log; the deprecated fields repeat its first approval."""
    items = items_of(record, answer)
    first = next((item for item in items if item.type == "approval"), None)
    row = Message(
        id=message_id,
        role="approval",
        agent_id=run.agent_id,
        conversation_id=run.conversation_id,
        run_id=run.id,
        otid=answer.otid,
        group_id=answer.group_id,
        approvals=[item.model_dump(mode="json") for item in items],
        approve=first.approve if first else None,
        denial_reason=first.reason if first else None,
        approval_request_id=record.request_id,
        created_at=at,
    )
    row.tokens = tokens_of(row)
    return row


def _verdict(call: PendingCall, item: ApprovalReturn | WireToolReturn | None) -> Verdict:
    match item:
        case None:
            return Verdict(call=call, decision="run")
        case WireToolReturn():
            return Verdict(call=call, decision="given", client_return=item)
        case ApprovalReturn(approve=False):
            return Verdict(call=call, decision="deny", reason=item.reason)
        case ApprovalReturn() if call.client:
            missing = WireToolReturn(tool_return=NO_RESULT, status="error", tool_call_id=call.id)
            return Verdict(call=call, decision="given", client_return=missing)
        case ApprovalReturn():
            return Verdict(call=call, decision="run")


def first_of(messages: Sequence[Message], first: str | None) -> str | None:
    """The first row of a run that begins with `first`; the run whose approval request `first` answers counts as its beginning."""
    rows = {row.id: row for row in messages}
    row = rows.get(first or "")
    while row is not None and row.role == "approval" and row.approval_request_id in rows:
        requesting_run = rows[row.approval_request_id].run_id
        first_row = next(each for each in messages if each.run_id == requesting_run)
        if first_row.id >= row.id:
            break
        row, first = first_row, first_row.id
    return first


def fingerprint(resolution: Resolution, further: Sequence[str]) -> str:
    """A hash that is equal for equal answers; `further` are the messages of the same request."""
    verdicts = [verdict.model_dump_json(exclude={"call": {"arguments"}}) for verdict in resolution.verdicts]
    return hashlib.sha256(json.dumps([verdicts, list(further)]).encode("utf-8", "surrogatepass")).hexdigest()


def check_client_tools(tools: Sequence[ClientTool]) -> None:
    """Raises: InvalidArgument if two client tools have the same name."""
    names: set[str] = set()
    for tool in tools:
        if tool.name in names:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: The client tool '{tool.name}' cannot be used: the name is given twice. Rename one of them."
            )
        names.add(tool.name)
