"""Worlds whose idle agents are put to rest, and what they show."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from hibernaut.ports.storage.table import Item, Table
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.packs import COPIED, PACK, PACKED
from tests.support.scripted_model import Script
from tests.support.world import TENANT, Data, World, data_in

MONTH = timedelta(days=30)
LONG = "a long way from home, " * 20


def world_over(data: Data, wrap: Callable[[Table], Table] = lambda table: table) -> World:
    """A process that puts agents to rest after a month."""
    return World(data, wrap=wrap, host={"rest_after": MONTH})


def talked(folder: Path, script: Script, *texts: str) -> tuple[World, str]:
    """A world and its agent, which was sent these messages."""
    world = world_over(data_in(folder, script))
    agent_id = world.make_agent(blocks={"human": "Ann"})
    for text in texts:
        world.send(agent_id, text)
    return world, agent_id


def months_pass(world: World, months: int = 2) -> None:
    """Time goes by, and a sweep comes."""
    world.clock.sleep(months * MONTH.total_seconds())
    world.engines.sweep.run()


def rows_of(world: World, log: str) -> list[Item]:
    """The items of a log's rows."""
    return world.data.table.query(keys.head(TENANT, log).pk, prefix="MSG#")


def packs_of(world: World, log: str) -> list[Item]:
    return world.data.table.query(keys.head(TENANT, log).pk, prefix=PACK)


def packed_rows(world: World, log: str) -> int:
    """How many rows have their bodies in packs alone."""
    return sum(1 for row in rows_of(world, log) if PACKED in row and not row["body"])


def told(world: World, log: str) -> list[Message]:
    """The log as a process without any cache reads it."""
    return World(world.data).log(log)


def runs_of(world: World, agent_id: str) -> list[StoredRun]:
    """The agent's runs, oldest first."""
    return [world.run(keys.last_part(str(row["sk"]))).run for row in world.stores.runs.walk([agent_id])]


def steps_of(world: World, agent_id: str) -> list[StoredStep]:
    """The steps of the agent's runs, oldest first."""
    return [step for run in runs_of(world, agent_id) for step in world.stores.steps.of_run(run.id)]


def lasting(item: Item) -> Item:
    """An item without what says that a pack has a copy of its body."""
    return {name: value for name, value in item.items() if name != COPIED}
