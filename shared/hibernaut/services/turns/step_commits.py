"""The transaction of a step: rows, step record, events, progress of the run, memory changes, and the approval request."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hibernaut.domain.turn.turn_values import IllegalOutcome, Stepped, Turn
from hibernaut.ports.table import Change
from hibernaut.schemas.approval import PendingApproval
from hibernaut.services.host import Host
from hibernaut.services.steps.model_step import StepTiming
from hibernaut.services.steps.step_lease import AdvanceResult
from hibernaut.services.steps.step_records import events_of, measured, progressed, step_record
from hibernaut.services.steps.step_work import StepWork
from hibernaut.services.tool_calls.memory_changes import MemoryChanges
from hibernaut.services.turns.run_commits import RunCommits, UnitOfWork
from hibernaut.store.stores import TenantStores
from hibernaut.store.transactions import StepWrites


class StepCommits:
    """Builds and writes the transaction of one step."""

    def __init__(self, stores: TenantStores, host: Host, *, memory: MemoryChanges, commits: RunCommits) -> None:
        self._conversations = stores.conversations
        self._archives = stores.archives
        self._memory = memory
        self._commits = commits
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
        state = replace(work.state, run=progressed(work, stepped, now), lease=0, journal="", token=f"{work.state.token}.commit")
        written = self._written(work, stepped, timing, now)
        if written.rows:
            state.run.last_message = written.rows[-1].id
        edits = self._edits(work, state.token)
        unit = UnitOfWork(work.head, measured(work, turn), state, written, edits)
        if stepped.stop is None:
            self._commits.step(unit)
            return AdvanceResult("advance", state.run.steps)
        asks = approval_of(work, stepped, now) if stepped.waiting else None
        self._commits.last_step(replace(unit, asks=asks))
        if asks is None or asks.deadline is None:
            return AdvanceResult("finished", state.run.steps)
        return AdvanceResult("approval", state.run.steps, int((asks.deadline - now).total_seconds()))

    def _written(self, work: StepWork, stepped: Stepped, timing: StepTiming, now: datetime) -> StepWrites:
        """The rows, record and events of the step. The returns of an earlier run's calls are followed by the run's input."""
        events = events_of(work, stepped.rows, stepped.stamp)
        if not stepped.resolved:
            return StepWrites(stepped.rows, step_record(work, stepped, timing, now, self._ids), events, work.system)
        inputs = self._commits.input_rows(work.state.run, stepped.rows[-1].id, now)
        return StepWrites([*stepped.rows, *inputs], None, events, work.system)

    def _edits(self, work: StepWork, token: str) -> list[Change]:
        """The step's changes beside the log: memory, passages, and the system message that was compiled for this run."""
        changes = self._memory.of(work, self._clock.now(), token)
        if work.effects.passages:
            changes += self._archives.insert(work.agent, work.effects.passages, token)
        if work.system is not None:
            changes.append(self._conversations.put_message(work.head.id, work.system, rewrite=True))
        return changes


def approval_of(work: StepWork, stepped: Stepped, now: datetime) -> PendingApproval:
    """The record of the calls that need approval. Its deadline is the request's if the request sets one, else the agent's."""
    run = work.state.run
    given = run.options.approval_deadline if run.options.approval_deadline_given else work.agent.approval_deadline
    return PendingApproval(
        run_id=run.id,
        agent_id=run.agent_id,
        conversation_id=run.conversation_id,
        step_id=stepped.rows[-1].step_id or "",
        request_id=stepped.rows[-1].id,
        calls=list(stepped.waiting),
        asked_at=now,
        deadline=now + timedelta(seconds=given) if isinstance(given, int) else given,
    )
