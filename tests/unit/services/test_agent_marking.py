"""Agents that an older version of the server has written are marked a slice at a time, and lists are right meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import Delete, Key, Put
from hibernaut.schemas.agents.agent import UpdateAgent
from hibernaut.services import agent_marking
from hibernaut.services.agent_marking import AgentMarking
from hibernaut.services.agents.agents import AgentFilter
from hibernaut.services.records import records_over
from hibernaut.store.agents.agent_marks import MarkBuild
from hibernaut.store.table import keys
from tests.protocol.staged import opened
from tests.support.house import TENANT, House, Overtaken, house_in
from tests.support.scripted_model import in_turn
from tests.support.world import World


def aged(table: object, agent_ids: list[str]) -> None:
    """What an older version has written: no marks, and no places in the orders."""
    for agent_id in agent_ids:
        for key in (keys.agent(TENANT, agent_id), keys.agent_row(TENANT, agent_id)):
            item = table.get(key)  # type: ignore[attr-defined]
            table.write(Put({name: value for name, value in item.items() if name not in ("list_pk", "list_sk", "marked")}))  # type: ignore[attr-defined]
    for item in table.query(f"{TENANT}#AGENTSBY"):  # type: ignore[attr-defined]
        table.write(Delete(Key(str(item["pk"]), str(item["sk"]))))  # type: ignore[attr-defined]


def found(house: House, wanted: AgentFilter) -> list[str]:
    return [state.id for state in house.services.agents.list(wanted, Page(), "created_at", frozenset())]


def test_each_request_marks_a_slice_and_reads_all_rows_until_every_agent_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_marking, "AGENTS", 2)
    with house_in(tmp_path) as house:
        ids = [house.agent(name="Ann", tags=["a"]).id for _ in range(5)]
        aged(house.table, ids)
        marks = house.stores.agent_marks
        seen = []
        for _ in range(3):
            assert found(house, AgentFilter(name="Ann")) == ids
            seen.append((marks.build().complete, len(marks.bearers("NAME", ["Ann"]).all())))
        assert seen == [(False, 2), (False, 4), (True, 5)]
        assert found(house, AgentFilter(tags=["a"])) == ids
        assert house.services.agents.tags(None, Page()) == ["a"]


def test_the_sweep_goes_on_and_looks_again_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_marking, "AGENTS", 1)
    world, first = opened(tmp_path, in_turn())
    ids = [first, *(world.make_agent() for _ in range(3))]
    table, marks = world.data.table, world.stores.agent_marks
    aged(table, ids)
    marking = AgentMarking(records_over(world.stores, world.clock, world.ids))
    assert not marking.is_complete()
    swept(world, 61)
    assert marks.build() == MarkBuild(complete=True)
    # An older version of the server, beside this one, makes an agent.
    late = world.make_agent()
    stored = world.stores.agents.get(late)
    assert stored is not None
    for mark in marks.delete(stored):
        table.write(mark)
    row = table.get(keys.agent_row(TENANT, late))
    table.write(Put({name: value for name, value in row.items() if name not in ("list_pk", "list_sk", "marked")}))
    swept(world, 3600)
    assert late not in bearers(world, stored.name)
    swept(world, 24 * 3600)
    assert late in bearers(world, stored.name)


def swept(world: World, seconds: float) -> None:
    world.clock.sleep(seconds)
    world.engines.sweep.run()


def bearers(world: World, name: str) -> list[str]:
    found = world.stores.agent_marks.bearers("NAME", [name])
    return [found.id_of(mark) for mark in found.all()]


@pytest.mark.parametrize("deleted", [True, False])
def test_an_agent_that_changes_while_it_is_marked_is_marked_as_it_is_then(tmp_path: Path, *, deleted: bool) -> None:
    with house_in(tmp_path, Overtaken) as house:
        agent = house.agent(name="Ann", tags=["a"])
        aged(house.table, [agent.id])
        agents = house.services.agents

        def change() -> None:
            if deleted:
                agents.delete(agent.id)
            else:
                agents.updates.update(agent.id, UpdateAgent(tags=["b"]))

        assert isinstance(house.table, Overtaken)
        house.table.by = change
        assert found(house, AgentFilter(tags=["a"])) == []
        assert found(house, AgentFilter(tags=["b"])) == ([] if deleted else [agent.id])
        held = [str(item["sk"]).partition("\x1e")[0] for item in house.table.query(f"{TENANT}#AGENTSBY") if item["sk"] != "BUILD"]
        assert held == ([] if deleted else ["NAME#Ann", "TAG#b"])
