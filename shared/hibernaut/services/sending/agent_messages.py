"""Messages from agent to agent: the tools `send_message_to_agent_async`, `send_message_to_agent_and_wait_for_reply` and
`send_message_to_agents_matching_tags` (RT 5.6, decision 44), and the calls of groups (decision 47).

A message is an ordinary request, accepted by `Sending`, with an otid that is derived from the calling run, step and call: a
repeated call attaches to the runs of the first one. The claim of the call names the runs whose replies it waits for. While one of
them has not ended, the call raises RepliesPending, and its run waits without a worker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

from hibernaut.domain.agents import agent_calls
from hibernaut.domain.agents.agent_calls import (
    AND_WAIT,
    AT_ONCE,
    GROUP_TURN,
    MATCHING_TAGS,
    MOST_AGENTS,
    MOST_CALLERS,
    MOST_SENT,
)
from hibernaut.domain.agents.group_turns import used_by
from hibernaut.domain.turn.actor import Call
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tracing import run_context
from hibernaut.schemas.base import Json
from hibernaut.schemas.errors import HibernautError, Unavailable
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import InputMessage, LettaRequest, MessageCreate
from hibernaut.schemas.runs.turn import AwaitedReply, Claim, ClaimedResult
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.services.sending import group_calls
from hibernaut.services.sending.agent_replies import AgentReplies
from hibernaut.services.sending.group_calls import GroupCalls, is_of_group
from hibernaut.services.sending.sending import Sending, SendRequest, body_digest
from hibernaut.services.sending.tagged_agents import TaggedAgents
from hibernaut.services.steps.step_lease import check_held
from hibernaut.services.steps.step_work import StepWork
from hibernaut.services.tool_calls.agent_calls import CallRefused, RepliesPending
from hibernaut.store.runs.agent_calls import ClaimedCall
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled

TRIES = 20
"""How often a call is claimed while other calls of the same request change the count of its messages."""
SENT = "Successfully sent message"
logger = logging.getLogger(__name__)
Reach = Callable[[str | None, Sequence[str]], set[str]]
"""The agents among these that an API key reaches."""


@immutable
class _OutgoingCall:
    """A call, the step that makes it, and its arguments."""

    work: StepWork
    call: Call
    message: str

    @property
    def run(self) -> StoredRun:
        return self.work.state.run

    @property
    def waits(self) -> bool:
        return self.call.name != agent_calls.ONE_WAY


class AgentMessages:
    """Performs the calls of agents to agents of the same tenant. `reply_seconds`: how long a call waits for replies."""

    def __init__(self, stores: TenantStores, host: Host, sending: Sending, *, reach: Reach, reply_seconds: float) -> None:
        self._runs = stores.runs
        self._calls = stores.agent_calls
        self._conversations = stores.conversations
        self._writer = stores.writer
        self._sending = sending
        self._tagged = TaggedAgents(stores)
        self._replies = AgentReplies(stores)
        self._of_group = GroupCalls(stores, self._replies)
        self._reach = reach
        self._reply_time = timedelta(seconds=reply_seconds)
        self._clock = host.clock
        self._ids = host.ids
        self._holder = host.holder

    def call(self, work: StepWork, call: Call) -> ClaimedResult:
        """As `AgentCalls.call`."""
        claimed = self._calls.claimed(work.state, call.id)
        try:
            outgoing = _OutgoingCall(work, call, "" if call.name == GROUP_TURN else _text(call, "message"))
            claimed = claimed or self._begun(outgoing, self._targets(outgoing))
        except CallRefused as refusal:
            return ClaimedResult(status="error", error=str(refusal))
        if claimed.claim.result is not None:
            return claimed.claim.result
        if outgoing.waits:
            return self._collect_replies(outgoing, claimed)
        return self._finished(outgoing, claimed, self._sent_one_way(outgoing))

    # the beginning of a call

    def _targets(self, outgoing: _OutgoingCall) -> list[str]:
        """The agents that the call is for. Raises: CallRefused."""
        if not is_id(outgoing.run.id, "run"):
            raise CallRefused(
                "Nothing was sent: agents write to each other within a run. Send the message to the other agent itself."
            )
        if len(agent_calls.calling_runs(outgoing.run)) >= MOST_CALLERS:
            raise CallRefused(
                f"Nothing was sent: at most {MOST_CALLERS} agents may call each other in a row. Answer without a further call."
            )
        if is_of_group(outgoing.call):
            agent_ids = self._of_group.targets(outgoing.run, outgoing.call)
            found = self._reached(outgoing, agent_ids)
            if outgoing.call.name == GROUP_TURN and not found:
                raise CallRefused(f"Nothing was sent: there is no agent with the id {agent_ids[0]}.")
            return found
        if outgoing.call.name == MATCHING_TAGS:
            found = self._tagged.ids(
                _texts(outgoing.call, "match_all"), _texts(outgoing.call, "match_some"), most=MOST_AGENTS + 2
            )
            other_ids = [agent_id for agent_id in found if agent_id != outgoing.run.agent_id]
            if len(other_ids) > MOST_AGENTS:
                raise CallRefused(f"Nothing was sent: more than {MOST_AGENTS} agents have these tags. Name further tags.")
            return self._reached(outgoing, other_ids)
        agent_id = _text(outgoing.call, "other_agent_id")
        if agent_id == outgoing.run.agent_id:
            raise CallRefused("Nothing was sent: this is your own id. An agent cannot send a message to itself.")
        exists = is_id(agent_id, "agent") and self._conversations.head(agent_id) is not None
        if not exists or not self._reach(outgoing.run.key_id, [agent_id]):
            raise CallRefused(f"Nothing was sent: there is no agent with the id {agent_id[:100]}.")
        return [agent_id]

    def _reached(self, outgoing: _OutgoingCall, agent_ids: Sequence[str]) -> list[str]:
        """Those among the agents that the API key of the run reaches."""
        reachable = self._reach(outgoing.run.key_id, agent_ids)
        return [agent_id for agent_id in agent_ids if agent_id in reachable]

    def _begun(self, outgoing: _OutgoingCall, targets: Sequence[str]) -> ClaimedCall:
        """Claim the call; the claim marks the first agents as asked, so that other callers see the wait. Raises: CallRefused,
        LeaseLost.
        """
        state, now = outgoing.work.state, self._clock.now()
        awaits = (
            [AwaitedReply(agent_id=one, dispatched=index < AT_ONCE) for index, one in enumerate(targets)]
            if outgoing.waits
            else []
        )
        claim = Claim(
            call_id=outgoing.call.id, name=outgoing.call.name, holder=self._holder, deadline=now + self._reply_time, awaits=awaits
        )
        claimed = ClaimedCall(claim, self._ids.token())
        root_id = [*agent_calls.calling_runs(state.run), state.run.id][0]

        def attempt() -> ClaimedCall:
            root = self._runs.get(root_id)
            if root is None:
                raise CallRefused("Nothing was sent: the request that these messages began with was deleted.")
            if root.sent + len(targets) > MOST_SENT:
                raise CallRefused(f"Nothing was sent: one request may lead to {MOST_SENT} messages between agents, and has.")
            try:
                self._writer.write(*self._calls.begin(state, root, claimed, now), token=claimed.token)
            except ConditionFailed:
                check_held(self._runs, state)
                raise
            return claimed

        return until_settled(attempt, f"The messages of run {root_id} keep being counted by others.", tries=TRIES)

    # sending

    def _sent_one_way(self, outgoing: _OutgoingCall) -> ClaimedResult:
        try:
            self._sent(outgoing, _text(outgoing.call, "other_agent_id"))
        except CallRefused as refusal:
            return ClaimedResult(status="error", error=f"Nothing was sent: {refusal}")
        return ClaimedResult(status="success", value=SENT)

    def _sent(self, outgoing: _OutgoingCall, agent_id: str) -> str:
        """The id of the run that accepts the message, or has accepted it before.

        Raises: CallRefused if the agent, its state or a budget admits no message; Unavailable, after which the step is repeated.
        """
        try:
            return self._accepted(outgoing, agent_id)
        except Unavailable:
            raise
        except HibernautError as refusal:
            raise CallRefused(str(refusal)) from refusal

    def _accepted(self, outgoing: _OutgoingCall, agent_id: str) -> str:
        run = outgoing.run
        otid = agent_calls.message_otid(run.id, run.steps, outgoing.call.id, agent_id)
        of_group = is_of_group(outgoing.call)
        body = LettaRequest(messages=list(self._messages(outgoing, agent_id, otid)))
        context = run_context(run.id, run.traceparent)[0]
        accepted = self._sending.accept(
            SendRequest(
                agent_id,
                body,
                group_calls.RUN_TYPE if of_group else agent_calls.RUN_TYPE,
                body_digest(agent_id, otid.encode()),
                background=True,
                key_id=run.key_id,
                traceparent=f"00-{context.trace_id}-{context.span_id}-01",
                links=self._of_group.links(run, outgoing.call) if of_group else agent_calls.links(run, waits=outgoing.waits),
            )
        )
        if not accepted.attached and not accepted.waits:
            self._sending.start(accepted.run_id)
        logger.info("agent message sent", extra={"run_id": run.id, "called_run_id": accepted.run_id, "awaited": outgoing.waits})
        return accepted.run_id

    def _messages(self, outgoing: _OutgoingCall, agent_id: str, otid: str) -> Sequence[InputMessage]:
        """The messages of the request; the first one has the otid."""
        run, call = outgoing.run, outgoing.call
        if call.name == GROUP_TURN:
            otid_of = partial(agent_calls.message_otid, run.id, run.steps, call.id)
            return self._of_group.messages(outgoing.work, call, lambda index: otid_of(f"{agent_id} {index}") if index else otid)
        text = agent_calls.message_text(run.agent_id, outgoing.message, waits=outgoing.waits)
        return [MessageCreate(role="system", content=text, otid=otid, sender_id=run.agent_id)]

    # waiting

    def _collect_replies(self, outgoing: _OutgoingCall, claimed: ClaimedCall) -> ClaimedResult:
        """The replies, if all agents have answered or the time is over. Raises: RepliesPending, LeaseLost."""
        while True:
            awaits = claimed.claim.awaits
            runs = self._runs.get_many([reply.run_id for reply in awaits if reply.run_id])
            timed_out = self._clock.now() >= claimed.claim.deadline
            if not timed_out and not all(state.ended for state in runs.values()):
                raise RepliesPending(claimed.claim.deadline)
            if timed_out or all(reply.run_id or reply.error for reply in awaits):
                return self._finished(outgoing, claimed, self._result(outgoing, awaits, runs))
            check_held(self._runs, outgoing.work.state)
            if not any(_is_due(reply) for reply in awaits):
                claimed = self._recorded(outgoing, claimed, _with_next_dispatched(awaits))
            answered = [self._send_one(outgoing, reply) if _is_due(reply) else reply for reply in claimed.claim.awaits]
            claimed = self._recorded(outgoing, claimed, answered)

    def _send_one(self, outgoing: _OutgoingCall, reply: AwaitedReply) -> AwaitedReply:
        """Send the message, unless the agent waits for this run. The claim has named the agent before, so of two calls that close
        a circle at the same time at least one sees the other.
        """
        match agent_calls.walk(outgoing.run.id, self._owner(reply.agent_id), self._waits_for):
            case "circle":
                return reply.model_copy(update={"error": agent_calls.IN_A_CIRCLE})
            case "too many":
                return reply.model_copy(update={"error": agent_calls.TOO_MANY_WAIT})
            case "free":
                pass
        try:
            return reply.model_copy(update={"run_id": self._sent(outgoing, reply.agent_id)})
        except CallRefused as refusal:
            return reply.model_copy(update={"error": str(refusal)})

    def _waits_for(self, run_id: str) -> list[str]:
        """The runs that a run waits for: the owner of its conversation if it is queued, else those that answer its calls."""
        state = self._runs.get(run_id)
        if state is None or state.ended:
            return []
        if state.run.status is RunStatus.CREATED:
            return self._owner(state.run.conversation_id or state.run.agent_id)
        found: list[str] = []
        for reply in self._calls.awaited(state):
            found += [reply.run_id] if reply.run_id else self._owner(reply.agent_id)
        return found

    def _owner(self, conversation: str) -> list[str]:
        head = self._conversations.head(conversation)
        return [head.owner] if head is not None and head.owner else []

    # the end of a call

    def _result(self, outgoing: _OutgoingCall, awaits: Sequence[AwaitedReply], runs: dict[str, RunState]) -> ClaimedResult:
        missing = f"no reply within {self._reply_time.total_seconds():.0f} seconds; the message stays delivered"
        not_sent = "not asked: the time for replies was over"
        if is_of_group(outgoing.call):
            outcomes = [
                (one.agent_id, one.error or (None if one.run_id else not_sent), runs.get(one.run_id or "")) for one in awaits
            ]
            returned = self._of_group.result(outgoing.call, outcomes, missing)
            return ClaimedResult(status="success", value=returned, used=used_by(state.run for state in runs.values()))
        replies: list[Json] = []
        for reply in awaits:
            state = runs.get(reply.run_id or "")
            error, texts = reply.error, list[str]()
            if error is None and reply.run_id is None:
                error = not_sent
            elif error is None:
                error, texts = self._replies.of(state, missing)
            if outgoing.call.name == AND_WAIT and error is not None:
                return ClaimedResult(status="error", error=error)
            one = agent_calls.reply_of(reply.agent_id, texts) if error is None else agent_calls.failure_of(reply.agent_id, error)
            replies.append(one)
        return ClaimedResult(status="success", value=str(replies[0]) if outgoing.call.name == AND_WAIT else replies)

    def _recorded(self, outgoing: _OutgoingCall, claimed: ClaimedCall, awaits: Sequence[AwaitedReply]) -> ClaimedCall:
        claim = claimed.claim.model_copy(update={"awaits": list(awaits)})
        updated = claimed._replace(claim=claim)
        self._writer.write(self._calls.record(outgoing.work.state, updated))
        return updated

    def _finished(self, outgoing: _OutgoingCall, claimed: ClaimedCall, result: ClaimedResult) -> ClaimedResult:
        claim = claimed.claim.model_copy(update={"result": result})
        self._writer.write(self._calls.record(outgoing.work.state, claimed._replace(claim=claim)))
        return result


def _is_due(reply: AwaitedReply) -> bool:
    """Whether the message is being sent, and the agent has neither accepted nor refused it yet."""
    return reply.dispatched and reply.run_id is None and reply.error is None


def _with_next_dispatched(awaits: Sequence[AwaitedReply]) -> list[AwaitedReply]:
    """The replies, with the next ones dispatched."""
    next_ones = [index for index, reply in enumerate(awaits) if not reply.dispatched][:AT_ONCE]
    return [reply.model_copy(update={"dispatched": True}) if index in next_ones else reply for index, reply in enumerate(awaits)]


def _text(call: Call, name: str) -> str:
    """An argument that must be a text with characters. Raises: CallRefused."""
    value = call.args.get(name)
    if not isinstance(value, str) or not value.strip():
        raise CallRefused(f"Nothing was sent: `{name}` must be a text.")
    return value.strip() if name == "other_agent_id" else value


def _texts(call: Call, name: str) -> list[str]:
    """An argument that is a list of tags, or absent. Raises: CallRefused."""
    value = call.args.get(name) or []
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise CallRefused(f"Nothing was sent: `{name}` must be a list of tags.")
    return [str(tag) for tag in value]
