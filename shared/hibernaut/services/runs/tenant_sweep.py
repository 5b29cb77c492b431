"""The sweep of one tenant: restarts or closes one overdue run, or handles other due work. `services.runs.sweep` decides which
item comes next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import ConditionFailed, Key
from hibernaut.schemas.ids import creation_time
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.agent_marking import AgentMarking
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.host import Host
from hibernaut.services.imports.import_writer import ImportWriter
from hibernaut.services.logs.callbacks import Callbacks
from hibernaut.services.records import records_over
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.services.turns.caller_wake_up import CallerWakeUp
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.events.event_keys import is_event_work
from hibernaut.store.groups.group_keys import is_sleeptime_work
from hibernaut.store.identities.erasure_keys import ERASURE
from hibernaut.store.runs.batch_keys import BATCH
from hibernaut.store.runs.runs import AWAITING, OPEN_FOR_MS, RunState
from hibernaut.store.schedules.schedule_keys import is_schedule
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys
from hibernaut.store.templates.import_keys import IMPORT
from hibernaut.store.templates.template_keys import MIGRATION

if TYPE_CHECKING:
    from hibernaut.services.sending.batches import Batches
    from hibernaut.services.sending.sleeptime_triggers import SleeptimeTriggers

LONGEST_RUN = timedelta(hours=24)
"""The longest duration of a run; after it, the sweep closes the run. The time in the queue does not count."""
MOST_SWEEPS = 30
"""A run is closed after this many restarts by the sweep and as many attempts without a commit. A run without an attempt stays
open.
"""
PROMPT_RESTARTS = 3
"""A run that no worker takes is restarted this often as soon as its execution fails, and after that by the sweep alone, less and
less often.
"""
LONGEST_PAUSE_MS = 15 * 60_000
"""The longest time in milliseconds between two restarts of a run that no worker takes."""
Took = Literal["started", "closed", "ended", "events", "schedules", "held", "left"]
"""The outcome for an item. "ended": `clear_up` must handle it. "events": it must be passed on. "schedules": it must be fired if
it is due. "held": a worker holds the run. "left": nothing was done.
"""


logger = logging.getLogger(__name__)


class SweepResult(NamedTuple):
    """The number of restarted runs, and of closed runs."""

    started: int
    closed: int


class Continued(Protocol):
    """Continues one piece of work."""

    def go_on(self, identifier: str, /) -> None:
        """Continue the work, as far as this attempt gets."""


class LongWork(NamedTuple):
    """The use cases that continue work of several sweeps: batches of messages, migrations of templates, and erasures of
    persons.
    """

    batches: Callable[[], Batches]
    migrations: Callable[[], Continued]
    erasures: Callable[[], Continued]


class TenantSweep:
    """Restarts or closes the overdue items of one tenant."""

    def __init__(
        self,
        stores: TenantStores,
        host: Host,
        termination: RunTermination,
        approvals: ApprovalAnswers,
        sleeptime: Callable[[], SleeptimeTriggers],
        work: LongWork,
    ) -> None:
        """`sleeptime` returns what sets sleep-time agents to work."""
        self._tenant = stores.tenant
        self._stores = stores
        self._host = host
        self._termination = termination
        self._approvals = approvals
        self._sleeptime = sleeptime
        self._work = work
        self._callbacks = Callbacks(stores, host)
        self._wake_up = CallerWakeUp(stores, host)
        records = records_over(stores, host.clock, host.ids)
        self._ends = ConversationDeletion(records, termination=termination, threads=host.threads)
        self._marking = AgentMarking(records)

    def take_up_one(self, run_id: str, *, after: int) -> SweepResult:
        """Restart or close one run before it is due, because its execution failed. `after`: the number of restarts before that
        execution; a run with a newer execution is left to it. A run that no worker has taken in its last `PROMPT_RESTARTS`
        restarts stays until it is due.
        """
        state = self._stores.runs.get(run_id)
        place = keys.run(self._tenant, run_id)
        is_prompt = state is not None and state.sweeps == after and state.restarts < PROMPT_RESTARTS
        outcome = self.take_up(place) if is_prompt else "left"
        if outcome == "ended":
            self.clear_up(place)
        return SweepResult(int(outcome == "started"), int(outcome == "closed"))

    def waits(self, place: Key) -> bool:
        """Whether the sweep has restarted the run before, and no worker has taken it since."""
        state = self._stores.runs.get(keys.last_part(place.pk))
        return state is not None and state.restarts > 0

    def clear_up(self, place: Key) -> Took:
        """Send the callback of an ended run, wake the run that waits for it and cancel those that it waited for, complete an
        import, continue the deletion of what a deleted conversation or agent has left, continue a batch of messages or the
        migration of a template, or mark agents of older data.
        """
        identifier = keys.last_part(place.pk)
        if place.sk == keys.BUILD:
            self._marking.sweep()
        elif place.sk == BATCH:
            self._work.batches().go_on(identifier)
        elif place.sk == MIGRATION:
            self._work.migrations().go_on(identifier)
        elif place.sk == ERASURE:
            self._work.erasures().go_on(identifier)
        elif place.sk == IMPORT:
            ImportWriter(self._stores, self._host).go_on(identifier)
        elif _is_gone(place):
            self._ends.go_on(identifier)
        else:
            self._termination.pass_on(identifier, last=True)
            self._callbacks.send(identifier)
            self._wake_up.tell(identifier)
        return "left"

    def take_up(self, place: Key) -> Took:
        """Restart or close an overdue run, restart a file's ingestion, deny an overdue approval, or set sleep-time agents to
        work.
        """
        run_id = keys.last_part(place.pk)
        if is_event_work(place):
            return "events"
        if is_schedule(place):
            return "schedules"
        if place.sk == keys.FILE:
            self._host.ingest.start(self._tenant, run_id)
            return "left"
        if is_sleeptime_work(place):
            return self._sleeptime().take_up(place)
        if place.sk == keys.PENDING:
            return "left" if self._approvals.deny_overdue(run_id, early=timedelta()) is None else "started"
        if _is_gone(place) or place.sk in (BATCH, keys.BUILD, ERASURE, IMPORT, MIGRATION):
            return "ended"
        state = self._stores.runs.get(run_id)
        if state is not None and state.ended:
            return "ended"
        if state is None or state.run.status is not RunStatus.RUNNING:
            return "left"
        if self._is_held(state):
            self._leave(state)
            return "held"
        if self._is_hopeless(state):
            error = RunError(code="internal_error", message="The run did not come to an end and was closed.")
            self._termination.end(run_id, StopReason.ERROR, error)
            self._report(state)
            return "closed"
        token = self._host.ids.token()
        restarted = replace(state, sweeps=state.sweeps + 1, restarts=state.restarts + 1, token=token)
        try:
            self._stores.writer.write(self._stores.runs.sweep(restarted, self._now_ms() + pause_ms(state.restarts)), token=token)
        except ConditionFailed:
            return "left"
        self._host.workflow.start(RunRef(self._tenant, run_id), name=f"{run_id}.{restarted.sweeps}")
        self._report(restarted)
        return "started"

    def _is_hopeless(self, state: RunState) -> bool:
        """Whether the run exceeds `LONGEST_RUN`, or has reached `MOST_SWEEPS` restarts and attempts that committed no step."""
        died = state.attempt - state.run.steps
        return (state.sweeps >= MOST_SWEEPS and died >= MOST_SWEEPS) or self._age(state) > LONGEST_RUN

    def _age(self, state: RunState) -> timedelta:
        """The time since the run's input was appended to its conversation, without the time in the queue."""
        started_at = creation_time(state.run.first_message) if state.run.first_message else state.run.created_at
        return self._host.clock.now() - started_at

    def _report(self, state: RunState) -> None:
        """Log that the sweep took the run up, with its age in milliseconds: no worker held a run that may be old. A run that
        waited for replies had none on purpose.
        """
        if state.holder == AWAITING:
            return
        age_ms = max(0, self._age(state) // timedelta(milliseconds=1))
        fields = {"run_id": state.run.id, "agent_id": state.run.agent_id, "sweeps": state.sweeps, "open_ms": age_ms}
        logger.info("run taken up", extra=fields)

    def _is_held(self, state: RunState) -> bool:
        """Whether a worker may hold an unexpired lease on the run's step."""
        if self._host.alone and state.holder != self._host.holder:
            return False
        return state.lease > self._now_ms()

    def _leave(self, state: RunState) -> None:
        """Leave a run to the worker that holds it: the sweep looks again when its lease has expired."""
        with suppress(ConditionFailed):
            self._stores.writer.write(self._stores.runs.postpone(state, state.lease + OPEN_FOR_MS))

    def _now_ms(self) -> int:
        return int(self._host.clock.now().timestamp() * 1000)


def pause_ms(restarts: int) -> int:
    """Milliseconds until the next restart of a run that no worker has taken, at the latest, if it was restarted this often
    before: exponential backoff that begins with the last restart at once.
    """
    return min(OPEN_FOR_MS << min(max(restarts + 1 - PROMPT_RESTARTS, 0), 10), LONGEST_PAUSE_MS)


def _is_gone(place: Key) -> bool:
    return place.sk == keys.GONE
