"""The tools that talk to an agent: send_message, get_run, cancel_run.

A message starts a run in the background, and the call waits for it. Whatever ends the wait (the limit, a notification, a closed
connection, the end of this process), the run goes on, and get_run waits for it again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from hibernaut.rest import run_responses
from hibernaut.rest.http import async_bridge
from hibernaut.rest.http.lanes import CONTROL
from hibernaut.rest.mcp.forms import LONGEST_HIT, LONGEST_REPLY, CancelRun, GetRun, RunReport, SendMessage, WaitingCall, cut
from hibernaut.rest.mcp.progress import tell_of
from hibernaut.rest.mcp.tool import AgentTool, Route, ToolContext
from hibernaut.rest.send_requests import send_request
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import HibernautError, InvalidArgument, StoreUnavailable
from hibernaut.schemas.messages.letta_message import AssistantMessage, LettaMessage, LettaResponse
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import LettaRequest, MessageCreate
from hibernaut.schemas.stop import ENDED, RunStatus
from hibernaut.services.runs.run_continuations import Continuation
from hibernaut.services.sending.sending import SendRequest, body_digest

SEND: Route = ("POST", "/v1/agents/{agent_id}/messages")
RUN: Route = ("GET", "/v1/runs/{run_id}")
CANCEL: Route = ("POST", "/v1/agents/{agent_id}/messages/cancel")
UNIQUE = 16
"""The number of characters from which the id of a request counts as unique if the client has no session."""
MOST_CALLS = 20
"""The largest number of waiting calls that a report names."""


async def send_message(context: ToolContext, arguments: SendMessage) -> RunReport:
    """Send a message to an agent and wait for the end of its run."""
    services, pools = context.services, context.pools
    await context.admit(SEND, agent_id=arguments.agent_id)
    request = _request(context, arguments)
    if arguments.conversation_id is not None:
        target = await pools.look(partial(services.conversations.target, arguments.conversation_id, None))
        if target.agent_id != arguments.agent_id:
            raise InvalidArgument(f"INVALID_ARGUMENT: {arguments.conversation_id} is no conversation of {arguments.agent_id}.")
    run_id = await pools.take(partial(run_responses.begin, services, request))
    if context.tell is not None:
        context.tell(f"The agent has the message (run_id {run_id}).")
    try:
        return await _report(context, run_id, arguments.wait_seconds)
    except StoreUnavailable:  # The agent has the message, whether or not its run can be read now.
        place = {"agent_id": arguments.agent_id, "conversation_id": arguments.conversation_id}
        return RunReport(run_id=run_id, **place, status="running", next=_STILL.format(run_id=run_id))


def _request(context: ToolContext, arguments: SendMessage) -> SendRequest:
    message = MessageCreate(role="user", content=arguments.message, otid=arguments.otid or otid_of(context))
    request = send_request(
        arguments.agent_id,
        LettaRequest(messages=[message]),
        "send_message",
        digest=body_digest(arguments.agent_id, context.raw),
        principal=context.principal,
    )
    return replace(request, conversation_id=arguments.conversation_id)


def otid_of(context: ToolContext) -> str | None:
    """The otid of the message of a call, so that a repeated call sends nothing twice; None: a repetition cannot be distinguished
    from a new call.

    In a session the ids of requests are unique. Without a session, an id of at least `UNIQUE` characters counts as unique; every
    client counts small numbers from the start.
    """
    call = context.call
    if call.session is None and (isinstance(call.request_id, int) or len(call.request_id) < UNIQUE):
        return None
    named = (context.principal.key_id, call.session, type(call.request_id).__name__, call.request_id)
    return f"mcp-{hashlib.sha256(repr(named).encode()).hexdigest()[:32]}"


async def get_run(context: ToolContext, arguments: GetRun) -> RunReport:
    """Wait for the end of a run, or of the run that continues it."""
    await context.admit(RUN, run_id=arguments.run_id)
    return await _report(context, arguments.run_id, arguments.wait_seconds)


async def cancel_run(context: ToolContext, arguments: CancelRun) -> RunReport:
    """Cancel a run, or the run that continues it."""
    await context.admit(RUN, run_id=arguments.run_id)
    found = await context.pools.look(partial(context.services.continuations.newest, arguments.run_id))
    await context.admit(CANCEL, agent_id=found.run.agent_id)
    await context.run(CONTROL, partial(context.services.cancelling.agent, found.run.agent_id, [found.run.id]))
    return await _report(context, arguments.run_id, 0)


async def _report(context: ToolContext, run_id: str, seconds: float) -> RunReport:
    """What has become of a run after at most `seconds`."""
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    while True:
        found = await context.pools.look(partial(context.services.continuations.newest, run_id))
        if found.run.status in ENDED:
            return await _ended(context, run_id, found)
        if clock() >= until or not await _is_over(context, found.run.id, until - clock()):
            return _unended(run_id, found.run)


async def _is_over(context: ToolContext, run_id: str, seconds: float) -> bool:
    """Whether the run ends within this time, while the client is connected."""
    ending = asyncio.ensure_future(async_bridge.response(context.services.run_follower, context.pools, run_id))
    disconnection = asyncio.ensure_future(context.over.wait())
    progress = asyncio.ensure_future(_report_progress(context, run_id))
    try:
        done, _ = await asyncio.wait({ending, disconnection}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (disconnection, ending, progress):
            each.cancel()
        await asyncio.wait({ending, progress})
    if ending not in done:
        return False
    error = ending.exception()
    if error is not None and not isinstance(error, HibernautError):  # the error of the run itself is in its record
        raise error
    return True


async def _report_progress(context: ToolContext, run_id: str) -> None:
    """Report the agent's progress to a client that requests it."""
    if context.tell is not None:
        with suppress(HibernautError):  # the run is gone, which the report says
            await tell_of(context.services.run_follower, context.pools, run_id, context.tell)


async def _ended(context: ToolContext, run_id: str, found: Continuation) -> RunReport:
    run, pending = found.run, found.pending
    whole: LettaResponse = await context.pools.look(partial(context.services.run_follower.outcome, run.id))
    report = _of(run_id, run)
    report.reply = cut(reply_of(whole.messages), LONGEST_REPLY)
    if run.error is not None:
        report.error = run.error.message
    if pending is not None:
        report.status = "requires_approval"
        report.waiting_calls = [
            WaitingCall(name=call.name, arguments=cut(call.arguments, LONGEST_HIT)) for call in pending.held[:MOST_CALLS]
        ]
        report.next = (
            "The agent waits until a person approves or denies these calls, in the user interface or by the API of this server. You cannot approve them. "
            f"Ask the person, then call get_run with run_id {run_id}: it returns what the agent says afterwards."
        )
    return report


_STILL = "The agent still works. Call get_run with run_id {run_id} to wait for its reply; do not send the message again."


def _unended(run_id: str, run: StoredRun) -> RunReport:
    report = _of(run_id, run)
    report.next = _STILL.format(run_id=run_id)
    return report


def _of(run_id: str, run: StoredRun) -> RunReport:
    report = RunReport(run_id=run_id, agent_id=run.agent_id, conversation_id=run.conversation_id, status="running")
    match run.status:
        case RunStatus.COMPLETED:
            report.status = "completed"
        case RunStatus.FAILED:
            report.status = "failed"
        case RunStatus.CANCELLED:
            report.status = "cancelled"
        case RunStatus.CREATED | RunStatus.RUNNING:
            pass
    report.stop_reason = run.stop_reason.value if run.stop_reason is not None else None
    report.continued_by = run.id if run.id != run_id else None
    return report


def reply_of(messages: Sequence[LettaMessage]) -> str:
    """What the agent says in the messages of a run."""
    contents = [message.content for message in messages if isinstance(message, AssistantMessage)]
    texts = [
        each if isinstance(each, str) else "".join(part.text for part in each if isinstance(part, TextContent))
        for each in contents
    ]
    return "\n\n".join(text for text in texts if text)


TALKING = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": True}
TOOLS = (
    AgentTool(
        name="send_message",
        title="Send a message to an agent",
        description=(
            "Sends a message to an agent and waits for its reply. The agent remembers the conversation. If the status of the result is `running` or "
            "`requires_approval`, do what `next` says."
        ),
        arguments=SendMessage,
        result=RunReport,
        routes=(SEND,),
        run=send_message,
        hints=TALKING,
        waits=True,
    ),
    AgentTool(
        name="get_run",
        title="Wait for a reply",
        description="Waits for the reply to a message that was sent before, by the run_id in the result of send_message.",
        arguments=GetRun,
        result=RunReport,
        routes=(RUN,),
        run=get_run,
        hints={"readOnlyHint": True, "openWorldHint": False},
        waits=True,
    ),
    AgentTool(
        name="cancel_run",
        title="Cancel a reply",
        description="Stops an agent that still works on a message. What it has written until then stays.",
        arguments=CancelRun,
        result=RunReport,
        routes=(CANCEL,),
        run=cancel_run,
        hints={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
    ),
)
