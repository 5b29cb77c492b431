"""The search of the models of this package: every order of the actions of some programs, and the shortest story to what must not
be.

A program is a generator of actions. Each action is atomic, and its result is sent back to the program. A program is a function of
these results, so the search stores them in place of the generator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from hibernaut.adapters.table.conditions import applied, holds
from hibernaut.ports.storage.table import Condition, Item, Update
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.stop import RunStatus
from hibernaut.store.runs.runs import RunStore
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.tenant_table import TenantTable
from tests.support.blobs import MemoryBlobs

RUN = StoredRun(
    id="run-1",
    agent_id="agent-1",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    options=RunOptions(max_steps=9),
    status=RunStatus.RUNNING,
)
Attributes = tuple[tuple[str, Any], ...]
"""An item as a value: each attribute of the model with its value, or None if the item has none."""
State = TypeVar("State")
Weaken = Callable[[str, Condition], Condition]
"""Changes the condition of an action, by the action's name."""


class Broken(Exception):
    """What must hold does not hold."""


class Action(NamedTuple):
    """One atomic action: what it is called, and what it does to a state: its result, and the state after it."""

    name: str
    act: Callable[[Any], tuple[Any, Any]]


Program = Generator[Action, Any, None]


def explored(first: State, successors: Callable[[State], Iterator[tuple[str, State]]]) -> int:
    """The number of states that follow from the `first`. Raises: Broken with the shortest story."""
    came: dict[State, tuple[State, str] | None] = {first: None}
    frontier = deque([first])
    while frontier:
        state = frontier.popleft()
        try:
            for words, after in successors(state):
                if after not in came:
                    came[after] = (state, words)
                    frontier.append(after)
        except Broken as broken:
            story, at = [str(broken)], came[state]
            while at is not None:
                story.insert(0, at[1])
                at = came[at[0]]
            raise Broken("\n".join(story)) from None
    return len(came)


def standing(program: Program, got: tuple[Any, ...]) -> Action | None:
    """Where a program stands after these results: its next action, or None at its end."""
    try:
        action = next(program)
        for result in got:
            action = program.send(result)
    except StopIteration:
        return None
    return action


def changed(attributes: Attributes, change: Update, when: Condition) -> Attributes | None:
    """The attributes after a change under this condition, or None if the condition does not hold."""
    item: Item = {name: value for name, value in attributes if value is not None}
    if not holds(when, item):
        return None
    new = applied(change, item) or {}
    return tuple((name, new.get(name)) for name, _ in attributes)


def run_store() -> tuple[RunStore, TenantTable, Codec]:
    """A store of runs that builds changes and reads nothing, with its parts."""
    blobs: Any = MemoryBlobs()
    table = TenantTable.__new__(TenantTable)
    table.tenant = "default"
    codec = Codec(blobs)
    return RunStore(table, codec), table, codec
