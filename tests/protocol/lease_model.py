"""A model of the lease of a step: the worker of a waiting caller, which renews it, beside executions, the sweep and deaths.

The changes and their conditions are those of `store.runs.runs`; the model applies them to one item and tries every order of the
actions. Each `yield` of a worker is one atomic action. A renewal runs beside its worker, and may come after the worker has
committed. Between any two actions a process may die, or time may pass. The sweep starts an execution when the lease is over, also
while its holder lives on (a zombie).

What must hold, in every state:
  L1  a step is committed once
  L2  a step is not taken from a process that lives and whose lease is not over
  L3  a lease is held for a step that is not committed
and at the end:
  L4  the run has ended
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from hibernaut.ports.storage.table import Update
from hibernaut.store.runs.runs import RunState, running
from tests.protocol.search import RUN, Action, Attributes, Broken, Program, Weaken, changed, explored, run_store, standing

LEASE, STEPS, RENEWALS = 1, 2, 1
"""Ticks of a lease, steps of the run, and renewals of one worker."""


class Seen(NamedTuple):
    """What a worker knows of the run: the attributes that conditions read."""

    attempt: int
    lease: int
    holder: str
    journal: str

    def state(self) -> RunState:
        return RunState(RUN, **self._asdict())


class Process(NamedTuple):
    """A worker or a renewal: its process, its program with its arguments, and the results of its actions so far. The argument of
    a worker says whether it renews its lease, as the worker of a waiting caller does.
    """

    process: int
    program: str
    args: tuple[Any, ...] = ()
    got: tuple[Any, ...] = ()


class State(NamedTuple):
    """The run's item, the steps that are committed, the time, and who lives. `sweeps` and `deaths` are those that may still
    come.
    """

    item: Attributes
    workers: tuple[Process, ...]
    committed: tuple[int, ...] = ()
    time: int = 1
    started: int = 1
    sweeps: int = 1
    deaths: int = 1


class LeaseModel:
    """The search. `weaken` leaves out a part of a condition; `sweeps` False: nobody continues what a dead process leaves."""

    def __init__(self, weaken: Weaken = lambda _, condition: condition, *, sweeps: bool = True) -> None:
        self._weaken = weaken
        self._swept = sweeps
        self._runs, *_ = run_store()
        self._replay = lru_cache(None)(self._replayed)

    def explored(self) -> int:
        """The number of states. Raises: Broken with the shortest story."""
        item = tuple({"status": "running", "attempt": 0, "lease": 0, "journal": "", "holder": ""}.items())
        first = State(item, (Process(1, "worker", (True,)),))
        return explored(first, self._successors)

    def _successors(self, state: State) -> Iterator[tuple[str, State]]:
        moved = False
        for one in state.workers:
            action = self._replay(one.program, one.process, one.args, one.got)
            result, after = action.act(state)
            moved = True
            yield f"{one.process} {action.name}: {result}", self._resumed(after, one, result)
        for process in sorted({one.process for one in state.workers}) if state.deaths else ():
            left = tuple(one for one in state.workers if one.process != process)
            yield f"{process} dies", state._replace(workers=left, deaths=state.deaths - 1)
        lease, ended = dict(state.item)["lease"], dict(state.item)["status"] != "running"
        if not ended and lease > state.time:
            yield "time passes", state._replace(time=state.time + 1)
            moved |= self._swept
        if not ended and lease <= state.time and self._swept and (state.sweeps or not state.workers):
            started = state.started + 1
            workers = (*state.workers, Process(started, "worker", (False,)))
            yield (
                "the sweep starts an execution",
                state._replace(workers=workers, started=started, sweeps=max(0, state.sweeps - 1)),
            )
            moved = True
        if not moved and not ended:
            raise Broken("L4: the run stays open for ever")

    def _resumed(self, state: State, one: Process, result: Any) -> State:
        now = one._replace(got=(*one.got, result))
        standing = self._replay(now.program, now.process, now.args, now.got)
        workers = [now if other == one else other for other in state.workers if other != one or standing is not None]
        begun = one.program == "worker" and standing is not None and standing.name == "commits"
        if begun and one.args[0]:
            workers.append(Process(one.process, "renewal", (result,)))
        return state._replace(workers=tuple(workers))

    def _replayed(self, program: str, process: int, args: tuple[Any, ...], got: tuple[Any, ...]) -> Action | None:
        """Where a worker stands after these results: its next action, or None at its end."""
        return standing(getattr(self, f"_{program}")(process, *args), got)

    # programs

    def _worker(self, process: int, *_: object) -> Program:
        """A process that advances the run until it ends or another one holds its step."""
        while True:
            before = yield Action("reads", self._read)
            if not isinstance(before, Seen):
                return
            taken = yield Action("takes", lambda state, read=before: self._take(state, read, process))
            if not isinstance(taken, Seen):
                return
            if (yield Action("commits", lambda state, by=taken: self._commit(state, by))) != "committed":
                return

    def _renewal(self, _process: int, taken: Seen) -> Program:
        """The thread beside a worker. It renews until its condition fails."""
        for _ in range(RENEWALS):
            renewed = yield Action("renews", lambda state, by=taken: self._renew(state, by))
            if not isinstance(renewed, Seen):
                return
            taken = renewed

    # actions

    def _read(self, state: State) -> tuple[Any, State]:
        item = dict(state.item)
        if item["status"] != "running":
            return "ended", state
        if item["lease"] > state.time:
            return "held", state
        return Seen(item["attempt"], item["lease"], item["holder"], item["journal"]), state

    def _take(self, state: State, before: Seen, process: int) -> tuple[Any, State]:
        taken = before._replace(attempt=before.attempt + 1, lease=state.time + LEASE, holder=str(process))
        after = self._written(state, "take", self._runs.take(before.state(), taken.state()))
        if after is None:
            return "too late", state
        item = dict(state.item)
        lives = any(str(one.process) == item["holder"] for one in state.workers)
        if lives and item["lease"] > state.time and str(process) != item["holder"]:
            raise Broken("L2: a step is taken from a process that lives and whose lease is not over")
        return taken, after

    def _renew(self, state: State, before: Seen) -> tuple[Any, State]:
        renewed = before._replace(lease=max(before.lease, state.time) + LEASE)
        after = self._written(state, "renew", self._runs.renew(before.state(), renewed.state()))
        if after is None:
            return "too late", state
        if dict(state.item)["lease"] == 0 or dict(state.item)["attempt"] != before.attempt:
            raise Broken("L3: a lease is renewed for a step that is committed, or of another attempt")
        return renewed, after

    def _commit(self, state: State, taken: Seen) -> tuple[Any, State]:
        step = len(state.committed)
        change = self._runs.change(replace(taken.state(), lease=0), running(taken.attempt), 0)
        after = self._written(state, "commit", change)
        if after is None:
            return "too late", state
        if dict(state.item)["attempt"] != taken.attempt or dict(state.item)["lease"] == 0:
            raise Broken("L1: a step is committed by an attempt that is not the newest, or a second time")
        done = (*state.committed, step)
        item = {**dict(after.item), "status": "completed" if len(done) == STEPS else "running"}
        return "committed", after._replace(committed=done, item=tuple(item.items()))

    def _written(self, state: State, name: str, change: Update) -> State | None:
        item = changed(state.item, change, self._weaken(name, change.when))
        return None if item is None else state._replace(item=item)
