"""A model of the wait of one run for another: workers of the caller, the end of the called run, the sweep, and deaths.

The changes and their conditions are those of `store.runs.agent_calls` and `store.runs.runs`; the model applies them to the
caller's item and tries every order of the actions. Each `yield` of a program is one atomic action. Between any two actions a
process may die. The sweep starts a worker of a caller that is due and without a living worker, and tells again of a called run
that has ended and is due.

What must hold:
  W1  the caller does not wait for a reply that has come: while it waits, its reply is outstanding, or somebody will wake it

That a step is committed once is shown by `lease_model`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from hibernaut.ports.storage.table import Update
from hibernaut.store.runs.agent_calls import AgentCallStore
from hibernaut.store.runs.runs import RunState, running
from tests.protocol.search import RUN, Action, Attributes, Broken, Program, Weaken, changed, explored, run_store, standing

HELD, LATER, SOON = 1, 2, 1
"""A lease that a worker holds; a due time at the deadline, and one that the sweep sees."""
DEATHS = 2


class Seen(NamedTuple):
    """What a worker knows of the caller: the attributes that conditions read."""

    attempt: int
    lease: int
    journal: str
    woken: int

    def state(self) -> RunState:
        return RunState(RUN, **self._asdict())


class Process(NamedTuple):
    """A process: its number, its program, and the results of its actions so far."""

    number: int
    program: str
    got: tuple[Any, ...] = ()


class State(NamedTuple):
    """The caller's item and whether the sweep sees it; whether the called run has ended, and whether the sweep sees that; who
    lives, and how many may still die.
    """

    item: Attributes
    processes: tuple[Process, ...]
    due: bool = True
    replied: bool = False
    to_tell: bool = False
    started: int = 2
    deaths: int = DEATHS


class WaitModel:
    """The search. `weaken` leaves out a part of a condition; `told` False: the end of a called run is told only by the worker
    that ended it.
    """

    def __init__(self, weaken: Weaken = lambda _, condition: condition, *, told: bool = True) -> None:
        self._weaken = weaken
        self._told = told
        self._runs, table, codec = run_store()
        self._calls = AgentCallStore(table, codec, self._runs)
        self._replay = lru_cache(None)(self._replayed)

    def explored(self) -> int:
        """The number of states. Raises: Broken with the shortest story."""
        item = tuple({"status": "running", "attempt": 0, "lease": 0, "journal": "", "woken": None}.items())
        first = State(item, (Process(1, "caller"), Process(2, "called")))
        return explored(first, self._successors)

    def _successors(self, state: State) -> Iterator[tuple[str, State]]:
        moved = False
        for one in state.processes:
            action = self._replay(one.program, one.got)
            if action is None:
                continue
            result, after = action.act(state)
            moved = True
            yield f"{one.number} {action.name}: {result}", self._resumed(after, one, result)
            if state.deaths:
                left = tuple(other for other in state.processes if other != one)
                yield f"{one.number} dies", state._replace(processes=left, deaths=state.deaths - 1)
        caller_lives = any(one.program == "caller" for one in state.processes)
        if dict(state.item)["status"] == "running" and state.due and not caller_lives:
            moved = True
            item = {**dict(state.item), "lease": 0}  # The lease of a dead worker has expired.
            yield "the sweep starts the caller", _started(state._replace(item=tuple(item.items())), "caller")
        called_lives = any(one.program in ("called", "teller") for one in state.processes)
        if not called_lives and (not state.replied or state.to_tell):
            moved = True
            program = "teller" if state.replied else "called"
            yield f"the sweep starts the {program}", _started(state, program)
        if not moved and dict(state.item)["status"] == "running":
            raise Broken("W1: the caller waits for a reply that has come")

    def _resumed(self, state: State, one: Process, result: Any) -> State:
        now = one._replace(got=(*one.got, result))
        standing = self._replay(now.program, now.got)
        found = [now if other == one else other for other in state.processes if other != one or standing is not None]
        return state._replace(processes=tuple(found))

    def _replayed(self, program: str, got: tuple[Any, ...]) -> Action | None:
        """Where a program stands after these results: its next action, or None at its end."""
        return standing(getattr(self, f"_{program}")(), got)

    # programs

    def _caller(self) -> Program:
        """A worker of the calling run: it takes the step, and ends the run or gives the step up."""
        before = yield Action("reads", _read)
        if not isinstance(before, Seen):
            return
        taken = yield Action("takes", lambda state: self._take(state, before))
        while isinstance(taken, Seen):
            if (yield Action("looks", lambda state: (state.replied, state))):
                yield Action("ends", lambda state, by=taken: self._end(state, by))
                return
            taken = yield Action("waits", lambda state, by=taken: self._wait(state, by))

    def _called(self) -> Program:
        """The worker that ends the called run, and tells its caller."""
        yield Action("replies", lambda state: ("replied", state._replace(replied=True, to_tell=self._told)))
        yield from self._teller()

    def _teller(self) -> Program:
        """Wakes the caller."""
        if (yield Action("wakes", self._wake)) == "woken":
            yield Action("has told", lambda state: ("told", state._replace(to_tell=False)))
            yield Action("starts", _start_if_free)
        else:
            yield Action("has told", lambda state: ("told", state._replace(to_tell=False)))

    # actions

    def _take(self, state: State, before: Seen) -> tuple[Any, State]:
        taken = before._replace(attempt=before.attempt + 1, lease=HELD)
        after = self._written(state, "take", self._runs.take(before.state(), taken.state()))
        return ("too late", state) if after is None else (taken, after)

    def _wait(self, state: State, taken: Seen) -> tuple[Any, State]:
        kept = taken._replace(lease=0, attempt=taken.attempt + 1)
        after = self._written(state, "wait", self._calls.wait(kept.state(), LATER))
        if after is not None:
            return "waits", after._replace(due=False)
        item = dict(state.item)
        if item["attempt"] != taken.attempt or item["status"] != "running":
            return "lost", state
        return taken._replace(woken=item["woken"] or 0), state

    def _wake(self, state: State) -> tuple[Any, State]:
        after = self._written(state, "wake", self._calls.wake(RUN.id, SOON))
        return ("ended", state) if after is None else ("woken", after._replace(due=True))

    def _end(self, state: State, taken: Seen) -> tuple[Any, State]:
        change = Update(self._runs.change(taken.state(), (), None).key, set={"status": "completed"}, when=running(taken.attempt))
        after = self._written(state, "end", change)
        return ("too late", state) if after is None else ("ended", after._replace(due=False))

    def _written(self, state: State, name: str, change: Update) -> State | None:
        item = changed(state.item, change, self._weaken(name, change.when))
        return None if item is None else state._replace(item=item)


def _read(state: State) -> tuple[Any, State]:
    item = dict(state.item)
    if item["status"] != "running" or item["lease"]:
        return "not mine", state
    return Seen(item["attempt"], item["lease"], item["journal"], item["woken"] or 0), state


def _start_if_free(state: State) -> tuple[Any, State]:
    if dict(state.item)["lease"]:
        return "held", state
    return "started", _started(state, "caller")


def _started(state: State, program: str) -> State:
    number = state.started + 1
    return state._replace(processes=(*state.processes, Process(number, program)), started=number)
