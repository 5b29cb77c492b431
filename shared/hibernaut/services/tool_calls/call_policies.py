"""Tool policies around a call: the rate that a policy sets, calls without a model, and the record of each decision.

The decision about a call of a model is made where its reply is read (`domain.turn.policy_decisions`), before anything of the
reply runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from hibernaut.domain.tools import tool_policy
from hibernaut.domain.turn.actor import Call
from hibernaut.domain.turn.call_outcomes import ToolCallOutcome
from hibernaut.ports.storage.table import Put
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.base import JsonObject, message_date
from hibernaut.schemas.tools.call_record import RecordedCall, StoredCalls
from hibernaut.schemas.tools.tool import Tool
from hibernaut.schemas.tools.tool_policy import CallDecision
from hibernaut.services.host import Host
from hibernaut.services.steps.step_work import StepWork
from hibernaut.store.access.tool_policies import window_of
from hibernaut.store.stores import TenantStores

MOST_RECORDED = 200
"""The largest number of calls of one reply that are recorded."""
LONGEST_RECORDED = 200
"""The longest name and id in a record, in characters."""
NOBODY_ASKED = (
    "The call was not made: the policy '{name}' of this server demands an approval, and a direct call has nobody who gives it."
    " Let an agent make the call."
)


class CallPolicies:
    """Applies the tool policies of one tenant."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._policies = stores.tool_policies
        self._rates = stores.call_rates
        self._records = stores.call_records
        self._writer = stores.writer
        self._clock = host.clock
        self._ids = host.ids

    def limited(self, work: StepWork, call: Call) -> str | None:
        """Count a call of a step against the rate of its policy. Returns the text for the model if the rate is exceeded, or None
        if the call may be made. A repeated step counts the call once.
        """
        if call.decision is None or call.decision.rate is None:
            return None
        run = work.state.run
        occurrence = (run.id, str(run.steps), call.id)
        return self._over(call.decision, call.name, run.agent_id, run.key_id, occurrence)

    def direct(self, tool: Tool | None, name: str, args: JsonObject, agent: StoredAgent | None, key_id: str | None) -> str | None:
        """Decide and record a call that a request makes, without a model. Returns the reason for a refusal, or None if the call
        may be made.
        """
        policies = self._policies.now.current()
        if not policies:
            return None
        call_id = self._ids.token()
        judged = tool_policy.judged_call(name, tool, args, agent.tags if agent else ())
        decision = tool_policy.decision(policies, judged, call_id)
        call, refusal, limit = Call(call_id, name, args, decision=decision), None, None
        if decision is not None and decision.action == "deny":
            refusal = tool_policy.denial(decision)
        elif decision is not None and decision.action == "ask":
            refusal = NOBODY_ASKED.format(name=decision.name)
        elif decision is not None and decision.rate is not None:
            limit = self._over(decision, name, agent.id if agent else None, key_id, (call_id,))
        outcome = ToolCallOutcome(call, "limited" if limit else "denied" if refusal else "allowed")
        record = StoredCalls(
            id=self._ids.new("calls"),
            at=self._clock.now(),
            source="api",
            agent_id=agent.id if agent else None,
            key_id=key_id,
            calls=[_recorded(outcome, tool)],
        )
        self._writer.write(self._records.put(record))
        return refusal or limit

    def records(self, work: StepWork, outcomes: Sequence[ToolCallOutcome], step_id: str | None) -> list[Put]:
        """The changes that record the calls of a step; none for a tenant without policies."""
        actor, run = work.turn.actor, work.state.run
        if not outcomes or not actor.policies:
            return []
        record = StoredCalls(
            id=self._ids.new("calls"),
            at=self._clock.now(),
            agent_id=run.agent_id,
            conversation_id=run.conversation_id,
            run_id=run.id,
            step_id=step_id,
            key_id=run.key_id,
            calls=[_recorded(outcome, actor.tool(outcome.call.name)) for outcome in outcomes[:MOST_RECORDED]],
        )
        return [self._records.put(record)]

    def _over(
        self, decision: CallDecision, tool: str, agent_id: str | None, key_id: str | None, place: tuple[str, ...]
    ) -> str | None:
        rate, now = decision.rate, self._clock.now()
        if rate is None:
            return None
        subject = {"key": key_id, "agent": agent_id, "tenant": None}[rate.per] or ""
        counter = (decision.policy_id, tool, rate.per, subject)
        if self._rates.count(counter, place, rate, now, self._ids.token()):
            return None
        ends = datetime.fromtimestamp(window_of(rate, now)[1], UTC)
        wait = max(1, int((ends - now).total_seconds()))
        default = f"The call was not made: the policy '{decision.name}' of this server allows {rate.calls} calls of {tool} in {rate.seconds} seconds."
        return f"{decision.message or default} Try it again in {wait} seconds, at {message_date(ends)}."


def is_limited(call: Call) -> bool:
    """Whether the policy of the call has a rate: such calls are counted one after the other."""
    return call.decision is not None and call.decision.rate is not None


def digest_of(args: JsonObject) -> str:
    """SHA-256 of arguments as JSON with sorted names."""
    text = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _recorded(outcome: ToolCallOutcome, tool: Tool | None) -> RecordedCall:
    call, decision = outcome.call, outcome.call.decision
    return RecordedCall(
        call_id=call.id[:LONGEST_RECORDED],
        tool=call.name[:LONGEST_RECORDED],
        server=next(iter(tool_policy.servers_of(tool)), None),
        outcome=outcome.outcome,
        policy_id=decision.policy_id if decision else None,
        policy_name=decision.name if decision else None,
        arguments_digest=digest_of(call.args),
        status=outcome.status,
    )
