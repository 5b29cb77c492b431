"""One step of a run: take it, load, repeat decide, perform, absorb, and write the step's transaction (architecture 3).

The order of things is here; what to do is `domain.turn`, which conditions stand on what is `store.transactions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from hibernaut.domain import window
from hibernaut.domain.actor import Call
from hibernaut.domain.turn import (
    Asked,
    AwaitApproval,
    CallModel,
    Compact,
    Compacted,
    Finish,
    IllegalOutcome,
    Replied,
    RunTools,
    Stepped,
    ToolsReturned,
    Turn,
    absorb,
    decide,
)
from hibernaut.ports.table import Change, ConditionFailed, TooLarge
from hibernaut.schemas.conversation import Head
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.message import Message
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.turn import Journal
from hibernaut.schemas.usage import Usage
from hibernaut.services.asking import Asking, Timing, journal_of, reply_of
from hibernaut.services.attempts import OPEN_FOR_MS, Advanced, Attempts, Stopped
from hibernaut.services.calls import Calls, ClaimHeld
from hibernaut.services.commits import Commits, MemoryMoved
from hibernaut.services.endings import Endings
from hibernaut.services.host import Host
from hibernaut.services.memory_changes import MemoryChanges
from hibernaut.services.step_records import events_of, progressed, step_record
from hibernaut.services.turn_work import Loader, Work
from hibernaut.store.stores import Stores
from hibernaut.store.transactions import Written

LONGEST_STEP = 880.0
"""Seconds a worker has for a step where its host sets no other limit (Lambda: 15 minutes)."""
MARGIN = 5.0
"""Seconds that a worker keeps for writing what it has."""
REDONE = 20
"""How often the tools of one step are run again because somebody else edited the same memory."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a step is made with."""

    attempts: Attempts
    loader: Loader
    asking: Asking
    calls: Calls
    memory: MemoryChanges
    commits: Commits
    endings: Endings


class Turns:
    def __init__(self, stores: Stores, host: Host, parts: Parts) -> None:
        self._runs = stores.runs
        self._conversations = stores.conversations
        self._passages = stores.passages
        self._transactions = stores.transactions
        self._writer = stores.writer
        self._attempts = parts.attempts
        self._loader = parts.loader
        self._asking = parts.asking
        self._calls = parts.calls
        self._memory = parts.memory
        self._commits = parts.commits
        self._endings = parts.endings
        self._clock = host.clock
        self._ids = host.ids

    def advance(self, tenant: str, run_id: str, *, time_left: Callable[[], float] | None = None, steps: int = 1) -> Advanced:
        """Perform the run's next step, or up to `steps` of them while most of the worker's time is left.

        `time_left` tells how many seconds this worker may still go on. Raises: nothing of the model's or the tools'.
        """
        began = self._clock.monotonic()
        left = time_left or (lambda: LONGEST_STEP - (self._clock.monotonic() - began))
        whole = left()
        advanced = self._one(tenant, run_id, left)
        while advanced.next == "advance" and steps > 1 and left() > whole / 2:
            steps -= 1
            advanced = self._one(tenant, run_id, left)
        return advanced

    def _one(self, tenant: str, run_id: str, left: Callable[[], float]) -> Advanced:
        state = self._runs.get(tenant, run_id)
        if state is None:
            raise NotFound(f"Run with ID {run_id} not found")
        if state.run.status is not RunStatus.RUNNING:
            return Advanced("waiting" if state.run.status is RunStatus.CREATED else "finished", state.run.steps)
        if self._attempts.held_by_another(state):
            return Advanced("busy", state.run.steps)
        try:
            with self._attempts.taken(tenant, state, left()) as taken:
                work = self._loader.load(tenant, taken)
                if work.head.owner != run_id:
                    raise Stopped  # it has ended, or it was handed the conversation by a transaction that is not all in sight
                return self._step(work, left)
        except Stopped:
            return self._after(tenant, run_id)
        except NotFound:
            self._endings.end(tenant, run_id, StopReason.ERROR)
            return Advanced("finished", state.run.steps)

    def _after(self, tenant: str, run_id: str) -> Advanced:
        """What a worker answers whose step was taken over."""
        state = self._runs.get(tenant, run_id)
        if state is None or state.ended:
            return Advanced("finished", state.run.steps if state else 0)
        return Advanced("busy", state.run.steps)

    def _step(self, work: Work, left: Callable[[], float]) -> Advanced:
        journal = self._runs.journal_of(work.tenant, work.state)
        timing = Timing.of(journal, self._clock)
        turn = work.turn
        if journal is not None:
            turn = absorb(turn, Replied(reply_of(journal), journal.stamp))
        while turn.stepped is None:
            match decide(turn):
                case CallModel() as asked:
                    outcome = self._asking.ask(work, turn, asked, timing, left() - MARGIN)
                    turn = absorb(turn, outcome)
                    if isinstance(turn.state, Asked):
                        self._journal(work, turn.state, timing)
                        if left() < self._calls.limits.timeout + MARGIN:
                            return self._later(work)
                case Compact(goal=goal):
                    pinned = sum(row.id in work.head.window.pinned for row in turn.messages)
                    messages = window.drop_oldest_turns(turn.messages, goal, pinned)
                    turn = absorb(turn, Compacted(messages))
                    work = replace(work, after=_after_cut(work, messages))
                case RunTools(calls=calls) | AwaitApproval(calls=calls):
                    return self._tools(work, turn, turn.state.calls if isinstance(turn.state, Asked) else calls, timing)
                case Finish(stop_reason=reason):
                    turn = replace(turn, state=Stepped((), Usage(), reason))
                case _ as never:
                    assert_never(never)
        return self._commit(work, turn, timing)

    def _journal(self, work: Work, asked: Asked, timing: Timing) -> None:
        """A reply that asks for tools is written before they run (invariant 4)."""
        journal: Journal = journal_of(asked, f"{work.turn.steps}.{work.state.attempt}", timing)
        marked = replace(work.state, token=f"{work.state.token}.journal")
        try:
            self._writer.write(*self._transactions.journal(work.tenant, marked, journal, self._clock.now()), token=marked.token)
        except ConditionFailed as failure:
            raise Stopped from failure

    def _later(self, work: Work) -> Advanced:
        """Too little time is left for the tools: give the lease up; the next call of the same step begins at the journal."""
        self._attempts.keep(work.tenant, work.state, "later", 0, self._attempts.now_ms() + OPEN_FOR_MS)
        return Advanced("advance", work.state.run.steps)

    def _tools(self, work: Work, turn: Turn, calls: tuple[Call, ...], timing: Timing) -> Advanced:
        """Run the calls and commit; again on fresh memory where somebody else edited it meanwhile (architecture 3, shared blocks)."""
        for _ in range(REDONE):
            began = self._clock.monotonic()
            try:
                results, effects = self._calls.run(work, calls)
            except ClaimHeld as held:
                return self._wait_for_claim(work, held.seconds)
            timing.tools_ns = int((self._clock.monotonic() - began) * 1e9)
            try:
                return self._commit(replace(work, effects=effects), absorb(turn, ToolsReturned(results)), timing)
            except MemoryMoved:
                work = self._loader.refreshed(work)
            except TooLarge:
                results, effects = self._calls.unwritten(work, results)
                return self._commit(replace(work, effects=effects), absorb(turn, ToolsReturned(results)), timing)
        raise Conflict(f"The memory of agent {work.agent.id} keeps being changed by others.")

    def _wait_for_claim(self, work: Work, seconds: float) -> Advanced:
        """Keep the step for as long as the other's call may go on, without a worker: whoever takes it after that reads the claim."""
        due = self._attempts.now_ms() + int(seconds * 1000)
        self._attempts.keep(work.tenant, work.state, "wait", due, due + 1000)
        return Advanced("busy", work.state.run.steps)

    def _commit(self, work: Work, turn: Turn, timing: Timing) -> Advanced:
        stepped = turn.stepped
        if stepped is None:
            raise IllegalOutcome("only a stepped turn can be committed")
        now = self._clock.now()
        written = Written(stepped.rows, step_record(work, stepped, timing, now, self._ids), events_of(work, stepped.rows))
        stop = stepped.stop
        state = replace(work.state, run=progressed(work, stepped, now), lease=0, journal="", token=f"{work.state.token}.commit")
        heads = (work.head, _outdated(work.after) if work.effects.passages else work.after)

        def memory() -> list[Change]:
            return self._edits(work, state.token)

        if stop is None:
            self._commits.step(work.tenant, heads, state, written, memory)
            return Advanced("advance", state.run.steps)
        self._commits.last_step(work.tenant, heads, state, written, memory)
        return Advanced("finished", state.run.steps)

    def _edits(self, work: Work, token: str) -> list[Change]:
        """What the step changes besides the log: memory, passages, and the system message compiled for this run."""
        changes = self._memory.of(work, self._clock.now(), token)
        if work.effects.passages:
            changes += self._passages.insert(work.tenant, work.agent, list(work.effects.passages))
        if work.system is not None:
            changes.append(self._conversations.put_message(work.tenant, work.head.id, work.system, rewrite=True))
        return changes


def _outdated(head: Head) -> Head:
    """The head whose system message is compiled anew at the next run: it tells how much archival memory there is."""
    if head.compiled is None:
        return head
    return head.model_copy(update={"compiled": head.compiled.model_copy(update={"digest": ""})})


def _after_cut(work: Work, messages: tuple[Message, ...]) -> Head:
    """The head with a window that begins behind the newest row that was dropped."""
    kept = {row.id for row in messages}
    dropped = [row.id for row in work.turn.messages if row.id not in kept]
    if not dropped:
        return work.after
    return work.after.model_copy(update={"window": work.after.window.model_copy(update={"cut": dropped[-1]})})
