"""How a step is written: one transaction that holds all changes of the step, or none.

1. `StepCommits.commit` collects a `UnitOfWork` from a stepped turn: the head before and after, the run after the step, the rows
   of the log, the step's record and the events (`services.steps.step_records`), and the edits of memory with their own
   conditions.
2. `UnitWriter.write` chooses the next owner of the conversation if the run ends (`Handovers`), lets `store.runs.transactions` add
   the conditions of the run protocol, and writes.
3. A failed condition means that an item changed since it was read. If another worker has taken the step or the run has ended, the
   writer raises LeaseLost. If a block or the agent has changed, it raises MemoryConflict, and the caller runs the tools again. If
   only the queue has grown, event numbers are in use, or another conversation of the agent has counted a turn, the unit is
   rebuilt on the current state and written again. If the transaction was written and only its response was lost, the writer goes
   on.
4. After the write: the cached window follows, followers are notified, the next owner's workflow is started, sleep-time agents are
   set to work, the callback is sent, and a calling run is woken. A process that dies before these leaves them to the sweep.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from hibernaut.domain.agents.agent_calls import awaited_by
from hibernaut.domain.budgets import Spending
from hibernaut.domain.memory.versions import merged
from hibernaut.domain.turn.turn_values import IllegalOutcome, Stepped, Turn
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import Change, ConditionFailed, Put, TableError
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.group import SleeptimeTrigger
from hibernaut.schemas.errors import Conflict, HibernautError
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.version import Author
from hibernaut.schemas.runs.approval import PendingApproval
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.services.budgets.budget_checks import BudgetChecks
from hibernaut.services.host import Host
from hibernaut.services.logs.callbacks import Callbacks
from hibernaut.services.steps.aws_charges import AwsCharges, ChargedWrite
from hibernaut.services.steps.measurements import end_figures, step_figures
from hibernaut.services.steps.model_step import StepTiming
from hibernaut.services.steps.spans import run_span
from hibernaut.services.steps.step_lease import AdvanceResult, LeaseLost
from hibernaut.services.steps.step_records import approval_of, events_of, measured, progressed, step_record
from hibernaut.services.steps.step_work import StepWork
from hibernaut.services.tool_calls.call_policies import CallPolicies
from hibernaut.services.tool_calls.memory_changes import ARCHIVAL_INSERT, MemoryChanges, author_of
from hibernaut.services.turns.caller_wake_up import CallerWakeUp
from hibernaut.services.turns.handovers import Handovers, InterruptingRun
from hibernaut.services.turns.sleeptime_turns import NO_TURN, CountedTurn, SleeptimeTurns
from hibernaut.store.runs.runs import RunState
from hibernaut.store.runs.transaction_values import Handover, RunEnding, StepWrites
from hibernaut.store.stores import TenantStores

TRIES = 100
"""How often one transaction is built before the commit fails with `Conflict`."""
logger = logging.getLogger(__name__)


class MemoryConflict(Exception):
    """A block or the agent has changed since it was read. Nothing was written."""


@immutable
class UnitOfWork:
    """Everything that one transaction of a run writes: a step of the run, or its end. `state` is the run after the transaction
    and says whether the run ends.

    `before` and `after` are the head as it was read and as it is written. `edits` are the changes beside the log (memory,
    passages, the system message), each with its own condition. The other fields concern the end of a run: `outside` is the run as
    read by the caller that ends it, `asks` is the approval that the run ends with, and `interrupting` is the run
    that takes the conversation instead of the first run in the queue.
    """

    before: Head
    after: Head
    state: RunState
    written: StepWrites
    edits: Sequence[Change] = ()
    outside: RunState | None = None
    asks: PendingApproval | None = None
    interrupting: InterruptingRun | None = None


class StepCommits:
    """Collects the unit of work of a step, and commits it."""

    def __init__(
        self,
        stores: TenantStores,
        host: Host,
        *,
        memory: MemoryChanges,
        handovers: Handovers,
        writer: UnitWriter,
        budgets: BudgetChecks,
    ) -> None:
        self._policies = CallPolicies(stores, host)
        self._conversations = stores.conversations
        self._archives = stores.archives
        self._memory = memory
        self._handovers = handovers
        self._writer = writer
        self._budgets = budgets
        self._clock = host.clock
        self._ids = host.ids

    def commit(self, work: StepWork, turn: Turn, timing: StepTiming) -> AdvanceResult:
        """Write the stepped turn. The result says what comes next.

        Raises: IllegalOutcome if the turn has not stepped; LeaseLost, MemoryConflict, TooLarge, Conflict.
        """
        stepped = turn.stepped
        if stepped is None:
            raise IllegalOutcome("only a stepped turn can be committed")
        now = self._clock.now()
        unit = self._unit(work, turn, stepped, timing, now)
        self._writer.write(unit)
        self._budgets.report(work.standings, unit.written.spent)
        if unit.written.step is not None:
            logger.info("step committed", extra=step_figures(unit.state.run, unit.written.step))
        if stepped.stop is None:
            return AdvanceResult("advance", unit.state.run.steps)
        if unit.asks is None or unit.asks.deadline is None:
            return AdvanceResult("finished", unit.state.run.steps)
        return AdvanceResult("approval", unit.state.run.steps, int((unit.asks.deadline - now).total_seconds()))

    def _unit(self, work: StepWork, turn: Turn, stepped: Stepped, timing: StepTiming, now: datetime) -> UnitOfWork:
        token = f"{work.state.token}.commit"
        writes = self._step_writes(work, stepped, timing, now)
        author = author_of(work, writes.step.id if writes.step else None)
        memory = self._memory.of(work, now, token, author)
        writes = replace(writes, facts=memory.facts)
        run = progressed(work, stepped, now)
        run.memory_versions = merged(run.memory_versions, memory.versions)
        if writes.rows:
            run.last_message = writes.rows[-1].id
        return UnitOfWork(
            before=work.head,
            after=measured(work, turn),
            state=replace(work.state, run=run, lease=0, journal="", token=token),
            written=writes,
            edits=[*self._edits(work, memory.changes, token, author), *self._recorded(work, stepped)],
            asks=approval_of(work, stepped, now) if stepped.waiting else None,
        )

    def _step_writes(self, work: StepWork, stepped: Stepped, timing: StepTiming, now: datetime) -> StepWrites:
        """The rows, record and events of the step. The returns of an earlier run's calls are followed by the run's input."""
        events = events_of(work, stepped.rows, stepped.stamp)
        if not stepped.resolved:
            called_model = stepped.stamp is not None or stepped.step_id is not None
            spent = Spending.of(stepped.usage, steps=int(called_model))
            return StepWrites(stepped.rows, step_record(work, stepped, timing, now, self._ids), events, work.system, spent)
        inputs = self._handovers.input_rows(work.state.run, stepped.rows[-1].id, now)
        return StepWrites([*stepped.rows, *inputs], None, events, work.system)

    def _recorded(self, work: StepWork, stepped: Stepped) -> list[Put]:
        """The changes that record the step's calls."""
        return self._policies.records(work, stepped.outcomes, stepped.stamp.step_id if stepped.stamp else stepped.step_id)

    def _edits(self, work: StepWork, memory: Sequence[Change], token: str, author: Author) -> list[Change]:
        """The step's changes beside the log: memory, passages, and the system message that was compiled for this run."""
        changes = list(memory)
        if work.effects.passages:
            by = author.model_copy(update={"tools": [ARCHIVAL_INSERT]})
            changes += self._archives.insert(work.agent, work.effects.passages, token, by)
        if work.system is not None:
            changes.append(self._conversations.put_message(work.head.id, work.system, rewrite=True))
        return changes


class UnitWriter:
    """Writes units of work: steps, compactions and ends of runs."""

    def __init__(
        self, stores: TenantStores, host: Host, handovers: Handovers, fire: Callable[[SleeptimeTrigger], object]
    ) -> None:
        """`fire` starts the runs of a trigger, and raises nothing."""
        self._tenant = stores.tenant
        self._transactions = stores.transactions
        self._conversations = stores.conversations
        self._runs = stores.runs
        self._writer = stores.writer
        self._workflow = host.workflow
        self._signal = host.signal
        self._clock = host.clock
        self._tracer = host.tracer
        self._callbacks = Callbacks(stores, host)
        self._wake_up = CallerWakeUp(stores, host)
        self._handovers = handovers
        self._sleeptime = SleeptimeTurns(stores, host)
        self._fire = fire
        self._charges = AwsCharges(host.meter)

    def write(self, unit: UnitOfWork) -> None:
        """Write the unit in one transaction. If its run ends, hand the conversation to the next run: the interrupting run, else
        the first run in the queue. A run that ends with an approval request hands it to none. The workflow of a run from the
        queue is started; that of an interrupting run is not.

        Raises: LeaseLost if the run has ended or another attempt holds the step; MemoryConflict; Conflict after `TRIES` attempts;
        ConditionFailed if a condition fails although nothing has changed, as for an interrupting run that exists already.
        """
        unit, turn = self._count_turn(unit)
        unit, charged = self._charged(unit, turn)
        for _ in range(TRIES):
            now = self._clock.now()
            handover = self._handover(unit, now)
            around = self._changes(unit, handover, now)
            changes = [*around, *turn.changes]
            try:
                self._writer.write(*changes, *unit.edits, token=unit.state.token)
            except ConditionFailed as failure:
                if any(place >= len(changes) for place in failure.failed):
                    raise MemoryConflict from failure
                current = self._current(unit)
                if any(place >= len(around) for place in failure.failed) and current is not None:
                    unit, turn = self._count_turn(current)
                    continue
                if current == unit:
                    raise
                if current is not None:
                    unit = current
                    continue
            self._charges.written(charged)
            return self._after_write(unit, handover, turn)
        raise Conflict(f"CONFLICT: The end of run {unit.state.run.id} cannot be written: the conversation is too busy.")

    def tell(self, run: StoredRun) -> None:
        """Notify the receivers of the run's end: its `callback_url`, or the run that called it. If that fails here, the sweep
        does it.
        """
        with suppress(HibernautError, TableError, OSError):
            if run.callback_url:
                self._callbacks.send(run.id)
            if awaited_by(run):
                self._wake_up.tell(run.id)

    def _count_turn(self, unit: UnitOfWork) -> tuple[UnitOfWork, CountedTurn]:
        """The unit, and the turn that it ends. The run names the runs of the sleep-time agents that work after it."""
        if not unit.state.ended:
            return unit, NO_TURN
        turn = self._sleeptime.ended(unit.state.run, unit.state.token, self._clock.now())
        runs = list(turn.trigger.runs.values()) if turn.trigger else []
        if runs == unit.state.run.sleeptime_run_ids:
            return unit, turn
        run = unit.state.run.model_copy(update={"sleeptime_run_ids": runs})
        return replace(unit, state=replace(unit.state, run=run)), turn

    def _charged(self, unit: UnitOfWork, turn: CountedTurn) -> tuple[UnitOfWork, ChargedWrite | None]:
        """The unit with the AWS charges of its run."""
        run, writes, edits = unit.state.run, unit.written, [*unit.edits, *turn.changes]
        charged = self._charges.write(run, writes.step, writes.rows, edits, ends=unit.state.ended)
        if charged is None:
            return unit, None
        state, writes = replace(unit.state, run=charged.run), replace(writes, step=charged.step)
        return replace(unit, state=state, written=writes), charged

    def _handover(self, unit: UnitOfWork, now: datetime) -> Handover:
        if not unit.state.ended or unit.asks is not None:
            return Handover()
        return self._handovers.next_owner(unit.before, unit.written.rows, now, unit.interrupting)

    def _changes(self, unit: UnitOfWork, handover: Handover, now: datetime) -> list[Change]:
        if not unit.state.ended:
            return self._transactions.step(unit.before, unit.after, unit.state, unit.written, now, outside=unit.outside)
        ending = RunEnding(unit.state, handover, unit.outside, unit.asks)
        return self._transactions.last_step(unit.before, unit.after, ending, unit.written, now)

    def _current(self, unit: UnitOfWork) -> UnitOfWork | None:
        """The unit with the current queue and event numbers. None if the transaction was written and only its response was lost.

        Raises: LeaseLost if this worker may not write to the run any more.
        """
        before, state, outside = unit.before, unit.state, unit.outside
        run, head = self._runs.get(state.run.id), self._conversations.head(before.id)
        if run is not None and run.token == state.token:
            return None
        if run is None or head is None or run.ended or head.owner != before.owner or head.version != before.version:
            raise LeaseLost
        if outside is None and run.attempt != state.attempt:
            raise LeaseLost
        if outside is not None and run.token != outside.token:
            raise LeaseLost
        events = self._runs.events(state.run.id, state.next_seq - 1, self._clock.now())
        queue = {"waiting": head.waiting}
        return replace(
            unit,
            before=before.model_copy(update=queue),
            after=unit.after.model_copy(update=queue),
            state=replace(state, next_seq=events[-1][0] + 1 if events else state.next_seq),
        )

    def _after_write(self, unit: UnitOfWork, handover: Handover, turn: CountedTurn) -> None:
        rows = [*unit.written.rows, *handover.rows]
        self._conversations.appended(unit.before, unit.after, rows, unit.written.system)
        self._signal.notify(unit.state.run.id)
        if not unit.state.ended:
            return
        logger.info("run ended", extra=end_figures(unit.state.run))
        self._tracer.ended(run_span(unit.state.run, self._clock.now()))
        if handover.run and unit.interrupting is None:
            self._workflow.start(RunRef(self._tenant, handover.run.run.id))
        if turn.trigger is not None:
            self._fire(turn.trigger)
        self.tell(unit.state.run)
