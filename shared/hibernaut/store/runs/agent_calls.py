"""Calls from agent to agent in the table: the claim that names the awaited replies, and how a run waits for them and is woken.

A claim is an item of the calling run (`store.runs.runs`). This module has reads and changes; the use case writes them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from hibernaut.ports.storage.table import PRESENT, Change, Check, Condition, Op, Term, Update
from hibernaut.schemas.runs.turn import AwaitedReply, Claim
from hibernaut.schemas.stop import RunStatus
from hibernaut.store.runs.runs import RunState, RunStore, claim_key, claimed_step, running, unchanged
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.tenant_table import TenantTable


class ClaimedCall(NamedTuple):
    """A call to other agents that has begun, and the token with which its claim is changed."""

    claim: Claim
    token: str


class AgentCallStore:
    """The calls of one tenant's agents to each other. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable, codec: Codec, runs: RunStore) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._runs = runs

    def claimed(self, state: RunState, call_id: str) -> ClaimedCall | None:
        """The call of the run's current step, if it has begun."""
        item = self._table.get(claim_key(self._tenant, state, call_id))
        return ClaimedCall(self._codec.record(Claim, item), str(item["wt"])) if item else None

    def begin(self, state: RunState, root: RunState, claimed: ClaimedCall, now: datetime) -> list[Change]:
        """Claim the call, and count its messages at the run `root`, the root of all callers.

        Conditions: the call has no claim, the run is running, the attempt is the newest, and the count is as it was read.
        """
        count_term = Term("sent", Op.EQ, root.sent) if root.sent else Term("sent", Op.MISSING)
        place = keys.run(self._tenant, state.run.id)
        increment = {"sent": max(1, len(claimed.claim.awaits))}
        claim = self._runs.put_claim(state, claimed.claim, claimed.token, now)
        if root.run.id == state.run.id:
            return [claim, Update(place, add=increment, when=(*running(state.attempt), count_term))]
        at_root = Update(keys.run(self._tenant, root.run.id), add=increment, when=(*PRESENT, count_term))
        return [claim, Check(place, running(state.attempt)), at_root]

    def record(self, state: RunState, claimed: ClaimedCall) -> Update:
        """The change that writes what has become of the call: which runs answer it, or its result."""
        return self._runs.finish_claim(state, claimed.claim, claimed.token)

    def awaited(self, state: RunState) -> list[AwaitedReply]:
        """The replies that the calls of the run's current step wait for, as far as their messages were sent or are being sent."""
        found = self.claims(state.run.id, claimed_step(state))
        replies = [reply for claim in found if claim.result is None for reply in claim.awaits]
        return [reply for reply in replies if reply.dispatched and reply.error is None]

    def claims(self, run_id: str, step: int) -> list[Claim]:
        """The calls of a step that have begun."""
        place = keys.claim(self._tenant, run_id, step, "")
        claims = self._table.query(place.pk, prefix=f"{place.sk.rpartition('#')[0]}#")
        return [self._codec.record(Claim, item) for item in claims]

    def wait(self, state: RunState, due_ms: int) -> Update:
        """The change by which a worker releases the run until the replies arrive. Condition: no reply has woken the run since it
        was read.
        """
        change = self._runs.keep(state, due_ms)
        wake_term = Term("woken", Op.EQ, state.woken) if state.woken else Term("woken", Op.MISSING)
        return replace(change, when=(*change.when, wake_term))

    def wake(self, run_id: str, due_ms: int) -> Update:
        """The change that wakes a run: a worker that is about to wait looks again. Idempotent."""
        return Update(keys.run(self._tenant, run_id), add={"woken": 1}, set=keys.due(run_id, due_ms), when=_RUNNING)

    def mark_caller_awake(self, state: RunState) -> Update:
        """The change that removes an ended called run from the index DUE, because its caller is awake. Condition: it has not
        changed.
        """
        key = keys.run(self._tenant, state.run.id)
        return Update(key, remove=("due_pk", "due_sk"), when=unchanged(state))


_RUNNING: Condition = (Term("status", Op.EQ, RunStatus.RUNNING.value),)
