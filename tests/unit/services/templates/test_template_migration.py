"""The agents of a template are migrated some at a time, wherever a worker dies, and the answer says how far that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hibernaut.ports.storage.table import Change, ConditionFailed, Table, Update
from hibernaut.schemas.agents.template import (
    CreateTemplateAgents,
    MigrationStatus,
    SaveTemplate,
    TemplateFromFile,
    UpdateTemplate,
)
from hibernaut.schemas.errors import NotFound
from hibernaut.services.records import records_over
from hibernaut.services.templates import template_migration
from hibernaut.services.templates.templates import Templates, templates_over
from hibernaut.store.table import keys
from hibernaut.store.templates import template_keys
from tests.support.agent_documents import documents, world_in
from tests.support.agent_file_parts import agent, block, file_of, tool
from tests.support.tables import PassesOn
from tests.support.world import TENANT, World

AGENTS = 3
MIGRATE = SaveTemplate(migrate_agents=True, block_reconciliation_strategy="reconcile-all")


class Died(BaseException):
    """The process."""


class Mortal(PassesOn):
    """A table with which the process dies before, or after, one of its writes."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.writes, self.at, self.after, self.contested = 0, -1, False, ""

    def write(self, *changes: Change) -> None:
        for place, change in enumerate(changes):
            if self.contested and isinstance(change, Update) and change.key == keys.agent(TENANT, self.contested):
                raise ConditionFailed({place: self.get(change.key)})
        mine = self.writes == self.at
        self.writes += 1
        if mine and not self.after:
            raise Died
        super().write(*changes)
        if mine:
            raise Died


def version(system: str, *labels: str) -> dict[str, Any]:
    blocks = [block(number, label, f"about {label}") for number, label in enumerate(labels)]
    made = agent(system=system, block_ids=[one["id"] for one in blocks], tool_ids=["tool-0"])
    return file_of(made, blocks=blocks, tools=[tool(0, "knock")])


def use_cases(world: World) -> Templates:
    records = records_over(world.stores, world.clock, world.ids)
    return templates_over(world.stores, records, documents(world), migration=world.chain.template_migration)


def prepared(folder: Path) -> tuple[World, Mortal, list[str]]:
    """A template whose agents are of version 1, and whose current document is another one."""
    tables: list[Mortal] = []

    def wrap(table: Table) -> Table:
        tables.append(Mortal(table))
        return tables[-1]

    world = world_in(folder, wrap=wrap)
    made = use_cases(world)
    made.create(TemplateFromFile(type="agent_file", agent_file=version("Be brief.", "human", "old"), name="guide"))
    agents = [made.create_agents("guide", CreateTemplateAgents()).agent_ids[0] for _ in range(AGENTS)]
    made.update("guide", UpdateTemplate(agent_file_json=version("Be kind.", "human", "plans")))
    tables[0].writes = 0
    return world, tables[0], agents


def swept(world: World) -> World:
    """The world after the sweeps of some minutes, each of which migrates two agents."""
    for _ in range(AGENTS):
        world.sweep()
    return world


def seen(world: World, agents: list[str]) -> list[tuple[str, list[str]]]:
    """The system text and the labels of the blocks of each agent; the table has no further agents and blocks."""
    stores = world.stores
    found = [one for each in agents if (one := stores.agents.get(each)) is not None]
    held = {block_id for one in found for block_id in one.block_ids}
    assert {str(row["sk"]) for row in stores.agents.rows()} == set(agents)
    assert {str(row["sk"]) for row in stores.blocks.listed().all()} == held
    blocks = stores.blocks.get_many(list(held))
    return [(one.system, sorted(str(blocks[block_id].label) for block_id in one.block_ids)) for one in found]


BEFORE = [("Be brief.", ["human", "old"])] * AGENTS
AFTER = [("Be kind.", ["human", "plans"])] * AGENTS


@pytest.fixture(autouse=True)
def few_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template_migration, "AT_ONCE", 2)
        yield


def test_the_answer_says_how_far_it_is_and_the_sweep_does_the_rest(tmp_path: Path) -> None:
    world, _, agents = prepared(tmp_path)
    saved = use_cases(world).save("guide", MIGRATE).migration
    assert saved is not None
    assert (saved.status, saved.version, saved.agents, saved.migrated) == ("running", "2", AGENTS, 2)
    swept(world)
    done = use_cases(world).migration("guide")
    assert (done.status, done.migrated, done.skipped, done.failed) == ("completed", AGENTS, 0, 0)
    assert done.over_at is not None
    assert seen(world, agents) == AFTER


@pytest.mark.parametrize("answered", [False, True])
def test_a_migration_is_completed_wherever_its_worker_dies(answered: bool, tmp_path: Path) -> None:
    world, mortal, agents = prepared(tmp_path / "whole")
    use_cases(world).save("guide", MIGRATE)
    swept(world)
    assert seen(world, agents) == AFTER
    stride = max(1, mortal.writes // 12)
    for at in range(int(answered), mortal.writes, stride):
        world, mortal, agents = prepared(tmp_path / str(at))
        mortal.at, mortal.after = at, answered
        try:
            use_cases(world).save("guide", MIGRATE)
            swept(world)
        except Died:
            world = swept(world.reborn())
        assert seen(world, agents) == (BEFORE if at == 0 and not answered else AFTER), at
        assert not any(key.sk == template_keys.MIGRATION for key in world.all_stores.due.all()), at


def test_an_agent_that_cannot_be_migrated_is_told_and_does_not_stop_the_others(tmp_path: Path) -> None:
    world, table, agents = prepared(tmp_path)
    table.contested = agents[0]  # another request always comes first
    use_cases(world).save("guide", MIGRATE)
    swept(world)
    done = use_cases(world).migration("guide")
    assert (done.status, done.migrated, done.failed) == ("completed", AGENTS - 1, 1)
    assert [one.agent_id for one in done.faults] == [agents[0]]
    assert "keeps being changed" in done.faults[0].error


def test_a_later_save_replaces_a_migration_that_is_under_way(tmp_path: Path) -> None:
    world, mortal, agents = prepared(tmp_path)
    made = use_cases(world)
    made.save("guide", MIGRATE)
    made.update("guide", UpdateTemplate(agent_file_json=version("Be quick.", "human")))
    saved = made.save("guide", MIGRATE).migration
    assert isinstance(saved, MigrationStatus)
    assert saved.version == "3"
    swept(world)
    assert seen(world, agents) == [("Be quick.", ["human"])] * AGENTS
    assert mortal.writes > 0


def test_a_template_without_a_migration_says_so(tmp_path: Path) -> None:
    world, _, _ = prepared(tmp_path)
    with pytest.raises(NotFound, match="no migration"):
        use_cases(world).migration("guide")
    use_cases(world).delete("guide")
    with pytest.raises(NotFound):
        use_cases(world).migration("guide")
