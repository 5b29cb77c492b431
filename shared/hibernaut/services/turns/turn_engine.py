"""Performs one step of a run: take the lease, load, repeat decide, perform and absorb, then commit.

This module defines the order. `domain.turn.turn_machine` decides each action; `store.runs.transactions` defines the conditions of
each write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from hibernaut.domain.agents.agent_calls import ALL_CALLS
from hibernaut.domain.turn.actor import Call
from hibernaut.domain.turn.turn_machine import absorb, decide
from hibernaut.domain.turn.turn_values import (
    AwaitApproval,
    Awaited,
    CallModel,
    CallsPending,
    Compact,
    Compacted,
    Finish,
    Finished,
    Reopened,
    RunTools,
    ToolsReturned,
    Turn,
)
from hibernaut.domain.window import sent_messages, window
from hibernaut.ports.storage.table import ConditionFailed, TooLarge
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.faults.run_faults import no_run
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.turn import Journal, Stamp
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.host import Host
from hibernaut.services.search.index_wake_up import IndexWakeUp
from hibernaut.services.steps.model_step import ModelStep, StepTiming, journal_of, replayed
from hibernaut.services.steps.spans import step_parent, step_span
from hibernaut.services.steps.step_lease import WAITING, AdvanceResult, LeaseLost, StepLease
from hibernaut.services.steps.step_work import StepLoader, StepWork, answered_by
from hibernaut.services.tool_calls.agent_calls import RepliesPending
from hibernaut.services.tool_calls.tool_execution import ClaimHeld, ToolExecution
from hibernaut.services.turns.handovers import Handovers
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.services.turns.unit_of_work import MemoryConflict, StepCommits
from hibernaut.store.runs.runs import OPEN_FOR_MS, RunState, running
from hibernaut.store.stores import TenantStores

LONGEST_STEP = 880.0
"""Seconds that a worker has for a step if its host sets no other limit (Lambda: 15 minutes)."""
MARGIN = 5.0
"""Seconds that a worker reserves for the commit."""
REDONE = 20
"""How often the tools of one step run at most, while concurrent edits of the same memory make the commit fail."""


@immutable
class EngineParts:
    """The collaborators of `TurnEngine`."""

    lease: StepLease
    loader: StepLoader
    handovers: Handovers
    model: ModelStep
    tools: ToolExecution
    commits: StepCommits
    termination: RunTermination
    wake_up: IndexWakeUp


class TurnEngine:
    """Advances a run by one step at a time."""

    def __init__(self, stores: TenantStores, host: Host, parts: EngineParts) -> None:
        self._runs = stores.runs
        self._reads = stores.step_reads
        self._conversations = stores.conversations
        self._passages = stores.passages
        self._transactions = stores.transactions
        self._writer = stores.writer
        self._lease = parts.lease
        self._loader = parts.loader
        self._model = parts.model
        self._tool_calls = parts.tools
        self._commits = parts.commits
        self._termination = parts.termination
        self._handovers = parts.handovers
        self._wake_up = parts.wake_up
        self._tracer = host.tracer
        self._clock = host.clock
        self._ids = host.ids

    def advance(
        self,
        run_id: str,
        *,
        time_left: Callable[[], float] | None = None,
        steps: int = 1,
        drop: bool = False,
        takes_over: bool = False,
    ) -> AdvanceResult:
        """Perform the run's next step, or up to `steps` of them while more than half of the worker's time is left.

        `time_left` returns the seconds that this worker has left. `drop`: the first of these steps reduces a full window at once
        by dropping whole old turns, without a summary. `takes_over`: the worker that holds the lease is known to be dead. Raises:
        NotFound if the run does not exist; Conflict if concurrent changes keep the step from being committed. Errors of the model
        and of tools are not raised.
        """
        started_at = self._clock.monotonic()
        seconds_left = time_left or (lambda: LONGEST_STEP - (self._clock.monotonic() - started_at))
        with self._tracer.batch():
            return self._advanced(run_id, seconds_left, steps, drop=drop, takes_over=takes_over)

    def _advanced(
        self, run_id: str, seconds_left: Callable[[], float], steps: int, *, drop: bool, takes_over: bool
    ) -> AdvanceResult:
        total = seconds_left()
        handoff = None if takes_over else self._reads.handed_over(run_id)
        while True:
            state = handoff.state if handoff else self._runs.get(run_id)
            if state is None:
                raise no_run(run_id)
            head = handoff.head if handoff else None
            advanced = self._one(state, seconds_left, head=head, drop=drop, takes_over=takes_over)
            outdated = handoff is not None and advanced.next == "busy"
            takes_over, handoff = False, None
            if outdated:
                continue  # Another worker has begun the run since this one accepted it: its current state is read.
            drop = False
            steps -= state.run.resolve is None  # Resolving an earlier run's calls does not count as a step.
            if advanced.next != "advance" or steps < 1 or seconds_left() <= total / 2:
                return advanced

    def _one(
        self, state: RunState, seconds_left: Callable[[], float], *, head: Head | None, drop: bool, takes_over: bool
    ) -> AdvanceResult:
        if state.run.status is not RunStatus.RUNNING:
            return AdvanceResult("waiting" if state.run.status is RunStatus.CREATED else "finished", state.run.steps)
        if self._lease.held_by_another(state) and not takes_over:
            return AdvanceResult("busy", state.run.steps)
        try:
            with self._lease.acquire(state, seconds_left()) as leased:
                if leased.run.input and leased.run.resolve is None:
                    leased, head = self._handovers.append_input(leased, lambda state: running(state.attempt)), None
                work = self._loader.load(leased, head)
                if work.head.owner != state.run.id:
                    raise LeaseLost  # The run has ended, or the transaction that made it the owner is not fully visible yet.
                if state.run.steps == 0:
                    self._wake_up.run_begins(work.turn.actor.names)
                with self._tracer.span(step_span(work), step_parent(state.run)):
                    return self._step(work, seconds_left, drop=drop)
        except LeaseLost:
            return self._after(state.run.id)
        except NotFound:
            self._termination.end(state.run.id, StopReason.ERROR)
            return AdvanceResult("finished", state.run.steps)

    def _after(self, run_id: str) -> AdvanceResult:
        """The result of a worker whose lease was lost."""
        state = self._runs.get(run_id)
        if state is not None and state.run.cancelled_step is not None:
            self._termination.pass_on(run_id)  # this worker may have sent a message meanwhile
        if state is None or state.ended:
            return AdvanceResult("finished", state.run.steps if state else 0)
        return AdvanceResult("busy", state.run.steps)

    def _step(self, work: StepWork, seconds_left: Callable[[], float], *, drop: bool) -> AdvanceResult:
        journal = self._runs.journal_of(work.state)
        timing = StepTiming.of(journal, self._clock)
        work = answered_by(work, journal.stamp.fallback if journal else None)
        turn = self._begun(work, journal)
        while turn.stepped is None:
            match decide(turn):
                case CallModel() as request:
                    work, outcome = self._model.ask(work, turn, request, timing, seconds_left() - MARGIN)
                    turn = absorb(turn, outcome)
                    if isinstance(turn.state, CallsPending) and isinstance(decide(turn), RunTools):
                        self._journal(work, turn.state, timing)
                        if seconds_left() < self._tool_calls.limits.timeout + MARGIN:
                            return self._later(work)
                case Compact() if not drop:
                    return self._asks_for_room(work, turn)
                case Compact(goal=goal):
                    remaining = window.drop_oldest_turns(turn.messages, goal, work.state.run.id)
                    messages = sent_messages.after_drop(turn.messages, remaining)
                    work = _after_cut(work, turn.messages[0].text(), messages)
                    turn = absorb(turn, Compacted(messages))
                case RunTools(calls=calls):
                    return self._tools(work, turn, calls, timing)
                case AwaitApproval():
                    turn = absorb(turn, Awaited())
                case Finish():
                    turn = absorb(turn, Finished())
                case _ as never:
                    assert_never(never)
        return self._commits.commit(work, turn, timing)

    def _begun(self, work: StepWork, journal: Journal | None) -> Turn:
        """The turn to start from: with the reply that an earlier attempt journaled, or with an earlier run's calls to resolve."""
        run = work.state.run
        if run.resolve is not None:
            tool_id = self._ids.new("message", after=work.head.last_message)
            beat_id = self._ids.new("message", after=tool_id)
            stamp = Stamp(
                step_id=run.resolve.step_id, assistant_id="", tool_id=tool_id, heartbeat_id=beat_id, at=self._clock.now()
            )
            return absorb(work.turn, Reopened(run.resolve, stamp, followed=bool(run.input)))
        if journal is None:
            return work.turn
        return absorb(work.turn, replayed(journal))

    def _asks_for_room(self, work: StepWork, turn: Turn) -> AdvanceResult:
        """Store the reason for a compaction on the run and release the lease: compaction is a task of its own."""
        run = work.state.run.model_copy(
            update={"compact_for": "context_window_exceeded" if turn.overflowed else "context_window_limit"}
        )
        state = replace(work.state, run=run, lease=0, attempt=work.state.attempt + 1, token=f"{work.state.token}.room")
        due = self._lease.now_ms() + OPEN_FOR_MS
        try:
            change = self._runs.change(state, running(work.state.attempt), due)
            self._writer.write(change, token=state.token)
        except ConditionFailed as failure:
            raise LeaseLost from failure
        return AdvanceResult("compact", run.steps)

    def _journal(self, work: StepWork, replied: CallsPending, timing: StepTiming) -> None:
        """Journal a reply with tool calls before the tools run (invariant 4)."""
        journal: Journal = journal_of(replied, f"{work.turn.steps}.{work.state.attempt}", timing)
        marked = replace(work.state, token=f"{work.state.token}.journal")
        try:
            self._writer.write(*self._transactions.journal(marked, journal, self._clock.now()), token=marked.token)
        except ConditionFailed as failure:
            raise LeaseLost from failure

    def _later(self, work: StepWork) -> AdvanceResult:
        """Release the lease because too little time is left for the tools. The next attempt at the step begins at the journal."""
        self._lease.keep(work.state, "later", 0, self._lease.now_ms() + OPEN_FOR_MS)
        return AdvanceResult("advance", work.state.run.steps)

    def _tools(self, work: StepWork, turn: Turn, calls: tuple[Call, ...], timing: StepTiming) -> AdvanceResult:
        """Run the calls and commit. If a concurrent edit changed the memory, reload it and repeat. If a call waits for other
        agents, release the step without a commit: the next attempt begins at the journal.

        Raises: LeaseLost; Conflict after `REDONE` attempts.
        """
        for _ in range(REDONE):
            started_at = self._clock.monotonic()
            try:
                results, effects = self._tool_calls.run(work, calls)
            except ClaimHeld as conflict:
                return self._wait_for_claim(work, conflict.seconds)
            except RepliesPending as pending:
                resumed = self._lease.await_replies(work.state, int(pending.until.timestamp() * 1000))
                if resumed is None:
                    return AdvanceResult("waiting", work.state.run.steps)
                work = replace(work, state=resumed)
                continue
            waited_for_reply = any(result.call.name in ALL_CALLS for result in results)
            timing.tools_ran(self._clock.monotonic() - started_at, self._clock, results, has_waited=waited_for_reply)
            try:
                return self._commits.commit(replace(work, effects=effects), absorb(turn, ToolsReturned(results)), timing)
            except MemoryConflict:
                work = self._loader.refreshed(work)
            except TooLarge:
                results, effects = self._tool_calls.unwritten(work, results)
                return self._commits.commit(replace(work, effects=effects), absorb(turn, ToolsReturned(results)), timing)
        raise Conflict(f"CONFLICT: The memory of agent {work.agent.id} keeps being changed by others.")

    def _wait_for_claim(self, work: StepWork, seconds: float) -> AdvanceResult:
        """Extend the lease, without a worker, until the other attempt's call must have ended. The next attempt then reads the
        claim.
        """
        due = self._lease.now_ms() + int(seconds * 1000)
        self._lease.keep(work.state, WAITING, due, due + 1000)
        return AdvanceResult("busy", work.state.run.steps)


def _after_cut(work: StepWork, system: str, messages: tuple[Message, ...]) -> StepWork:
    """The work with its window reduced to these messages. `system`: the system message that was sent until now."""
    before = work.turn.messages
    if len(messages) == len(before):
        return work
    after = work.after.model_copy(update={"window": window.narrowed(work.head.window, before, messages)})
    # Skills of the request stand behind the system message; a text of the request's own contains none of it.
    text = work.system_text.replace(system, messages[0].text(), 1)
    return replace(work, after=after, system_text=text)
