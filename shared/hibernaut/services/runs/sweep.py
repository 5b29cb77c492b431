"""The sweep: no run stays open for ever (invariant 7). It restarts overdue runs and other due work, and closes runs that do not
end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import zip_longest
from typing import Literal, NamedTuple

from hibernaut.ports.table import ConditionFailed, Key
from hibernaut.ports.workflow import RunRef
from hibernaut.schemas.errors import place_of
from hibernaut.schemas.ids import made_at
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.agent_marking import AgentMarking
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.host import Host
from hibernaut.services.logs.callbacks import Callbacks
from hibernaut.services.records import records_over
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.agents.agent_mark_keys import BUILD
from hibernaut.store.runs.runs import OPEN_FOR_MS, RunState
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import keys

LONGEST_RUN = timedelta(hours=24)
"""The longest duration of a run; after it, the sweep closes the run. The time in the queue does not count."""
MOST_SWEEPS = 30
"""A run is closed after this many restarts by the sweep and as many attempts without a commit. A run without an attempt stays
open.
"""
MARGIN = 12.0
"""Seconds that must be left for one more item: two operations on the table that are retried to the end of their budget."""
Took = Literal["started", "closed", "ended", "left"]
logger = logging.getLogger(__name__)


class SweepResult(NamedTuple):
    """The number of restarted runs, and of closed runs."""

    started: int
    closed: int


class TenantSweep:
    """Restarts or closes the overdue items of one tenant."""

    def __init__(self, stores: TenantStores, host: Host, termination: RunTermination, approvals: ApprovalAnswers) -> None:
        self._tenant = stores.tenant
        self._stores = stores
        self._host = host
        self._termination = termination
        self._approvals = approvals
        self._callbacks = Callbacks(stores, host)
        records = records_over(stores, host.clock, host.ids)
        self._ends = ConversationDeletion(records, termination=termination)
        self._marking = AgentMarking(records)

    def take_up_one(self, run_id: str, *, after: int) -> SweepResult:
        """Restart or close one run before it is due, because its execution failed. `after`: the number of restarts before that
        execution; a run with a newer execution is left to it.
        """
        state = self._stores.runs.get(run_id)
        place = keys.run(self._tenant, run_id)
        took = self.take_up(place) if state is not None and state.sweeps == after else "left"
        if took == "ended":
            self.clear_up(place)
        return SweepResult(int(took == "started"), int(took == "closed"))

    def clear_up(self, place: Key) -> Took:
        """Make the callback of an ended run, continue the deletion of what a deleted conversation or agent has left, or mark
        agents of older data.
        """
        identifier = keys.last_part(place.pk)
        if place.sk == BUILD:
            self._marking.sweep()
        elif _is_gone(place):
            self._ends.go_on(identifier)
        else:
            self._callbacks.send(identifier)
        return "left"

    def take_up(self, place: Key) -> Took:
        """Restart or close an overdue run, restart a file's ingestion, or deny an overdue approval. "ended": `clear_up` must
        handle it.
        """
        run_id = keys.last_part(place.pk)
        if place.sk == keys.FILE:
            self._host.ingest.start(self._tenant, run_id)
            return "left"
        if place.sk == keys.PENDING:
            return "left" if self._approvals.deny_overdue(run_id, early=timedelta()) is None else "started"
        if _is_gone(place) or place.sk == BUILD:
            return "ended"
        state = self._stores.runs.get(run_id)
        if state is not None and state.ended:
            return "ended"
        if state is None or state.run.status is not RunStatus.RUNNING or self._alive(state):
            return "left"
        if self._is_hopeless(state):
            error = RunError(code="internal_error", message="The run did not come to an end and was closed.")
            self._termination.end(run_id, StopReason.ERROR, error)
            return "closed"
        counted = replace(state, sweeps=state.sweeps + 1, token=self._host.ids.token())
        try:
            self._stores.writer.write(self._stores.runs.sweep(counted, self._due_ms()), token=counted.token)
        except ConditionFailed:
            return "left"
        self._host.workflow.start(RunRef(self._tenant, run_id), name=f"{run_id}.{counted.sweeps}")
        return "started"

    def _is_hopeless(self, state: RunState) -> bool:
        """Whether the run exceeds `LONGEST_RUN`, or has reached `MOST_SWEEPS` restarts and attempts that committed no step."""
        began = made_at(state.run.first_message) if state.run.first_message else state.run.created_at
        died = state.attempt - state.run.steps
        return (state.sweeps >= MOST_SWEEPS and died >= MOST_SWEEPS) or self._host.clock.now() - began > LONGEST_RUN

    def _alive(self, state: RunState) -> bool:
        """Whether a worker may hold an unexpired lease on the run's step."""
        if self._host.alone and state.holder != self._host.holder:
            return False
        return state.lease > int(self._host.clock.now().timestamp() * 1000)

    def _due_ms(self) -> int:
        return int(self._host.clock.now().timestamp() * 1000) + OPEN_FOR_MS


class Sweep:
    """Sweeps the overdue items of all tenants."""

    def __init__(self, stores: Stores, host: Host, of: Callable[[str], TenantSweep]) -> None:
        """`of` returns the sweep of a tenant."""
        self._due = stores.due
        self._blob_collector = stores.blob_collector
        self._host = host
        self.of = of

    def run(self, *, everything: bool = False, time_left: Callable[[], float] | None = None) -> SweepResult:
        """Take up every overdue item. `everything`: take up every open item, as a host that runs alone does at its start.

        The shards take turns, so that a long one delays no other. `time_left` returns the seconds that the host has left: with
        less than `MARGIN`, the sweep stops, and the remaining items stay due for the next one.
        """
        now_ms = int(self._host.clock.now().timestamp() * 1000)
        started = closed = 0
        ended: list[Key] = []
        shards = [self._due.past(shard, None if everything else now_ms) for shard in keys.shards()]
        in_turn = [place for turn in zip_longest(*shards) for place in turn if place is not None]
        for place in _while_time(in_turn, time_left):
            took = self._tried(TenantSweep.take_up, place)
            started += took == "started"
            closed += took == "closed"
            ended += [place] if took == "ended" else []
        # These come last because a callback may be slow, and a deletion or the marking of older data may be large.
        for place in _while_time(sorted(ended, key=lambda place: place.sk in (keys.GONE, BUILD)), time_left):
            self._tried(TenantSweep.clear_up, place)
        if time_left is None or time_left() >= MARGIN:
            self._collect()
        if started or closed:
            logger.info("runs swept", extra={"started": started, "closed": closed})
        return SweepResult(started, closed)

    def _collect(self) -> None:
        """Delete a batch of unreferenced blobs. An error is logged, not raised."""
        try:
            if deleted := self._blob_collector.collect():
                logger.info("blobs collected", extra={"deleted": deleted})
        except Exception as error:  # noqa: BLE001  a failed collection of blobs must not stop the sweep of runs
            fields = {"error": type(error).__qualname__, "place": place_of(error)}
            logger.error("blobs could not be collected", extra=fields)

    def _tried(self, act: Callable[[TenantSweep, Key], Took], place: Key) -> Took:
        """Apply `act` to one item. An error is logged, not raised, so that one unreadable item does not stop the sweep."""
        try:
            return act(self.of(keys.tenant_of(place.pk)), place)
        except Exception as error:  # noqa: BLE001  an unreadable record may raise any error
            fields = {"run_id": keys.last_part(place.pk), "error": type(error).__qualname__, "place": place_of(error)}
            logger.error("run could not be swept", extra=fields)
            return "left"


def _while_time(places: Sequence[Key], time_left: Callable[[], float] | None) -> Iterator[Key]:
    """The items, until less than `MARGIN` is left."""
    for number, place in enumerate(places):
        if time_left is not None and time_left() < MARGIN:
            logger.warning("sweep stopped in time", extra={"items_left": len(places) - number})
            return
        yield place


def _is_gone(place: Key) -> bool:
    return place.sk == keys.GONE
