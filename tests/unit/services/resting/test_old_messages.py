"""Messages and runs older than a setting says leave the table for the archive, or go; those in use stay."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from hibernaut.schemas.agents.conversation import Head
from hibernaut.services.host import Retention
from hibernaut.services.resting import tenant_rounds
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.packs import PACK, PACKED
from hibernaut.wiring.configuration.retention_settings import RetentionSettings
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.protocol.staged import RING, Died, opened
from tests.support.resting import LONG, packed_rows, packs_of, rows_of, runs_of, steps_of, talked, told
from tests.support.scripted_model import in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import TENANT, World

Mode = Literal["archive", "delete"]
DAYS_30 = timedelta(days=30)


def keeping(world: World, mode: Mode) -> World:
    """The next process over the data, in which messages and runs of 30 days leave."""
    return World(world.data, host={"retention": Retention(DAYS_30, mode)})


def narrowed(world: World, agent_id: str, rows: int) -> Head:
    """Let the window begin after so many rows, as a compaction does."""
    head, log = world.head(agent_id), world.log(agent_id)
    window = head.window.model_copy(update={"cut": log[rows - 1].id})
    world.stores.writer.write(
        world.stores.conversations.change_head(head, head.model_copy(update={"window": window, "version": head.version + 1}), "t")
    )
    return world.head(agent_id)


def aged(folder: Path, mode: Mode) -> tuple[World, str]:
    """An agent with three exchanges of two months ago, of which the window has the last one, and one of today."""
    world, agent_id = talked(folder, in_turn(says(LONG)), "one", "two", "three")
    narrowed(world, agent_id, 5)
    world.clock.sleep(2 * DAYS_30.total_seconds())
    world.send(agent_id, "four")
    return keeping(world, mode), agent_id


def test_the_server_at_home_does_what_its_settings_say(tmp_path: Path) -> None:
    settings = RetentionSettings(DAYS_30, Retention(2 * DAYS_30, "delete"))
    with Embedded(EmbeddedSettings(data=tmp_path, retention=settings)) as house:
        assert (house.host.rest_after, house.host.retention) == (DAYS_30, settings.messages)


def test_old_messages_outside_the_window_are_packed_and_listed_as_before(tmp_path: Path) -> None:
    world, agent_id = aged(tmp_path, "archive")
    before = told(world, agent_id)
    world.engines.sweep.run()
    assert [PACKED in row for row in rows_of(world, agent_id)] == [False, True, True, True, True, False, False, False, False]
    assert told(world, agent_id) == before
    assert world.stores.conversations.page(agent_id, limit=3) == before[:3]
    assert world.stores.messages.get(before[1].id) == before[1]


def test_old_runs_are_packed_and_read_as_before(tmp_path: Path) -> None:
    world, agent_id = aged(tmp_path, "archive")
    runs, steps = runs_of(world, agent_id), steps_of(world, agent_id)
    world.engines.sweep.run()
    [pack] = world.data.table.query(keys.agent(TENANT, agent_id).pk, prefix=PACK)
    assert pack["records"] == 6, "three runs with a step each"
    world = keeping(world, "archive")
    assert (runs_of(world, agent_id), steps_of(world, agent_id)) == (runs, steps)


def test_old_messages_and_runs_go_where_the_setting_says_so(tmp_path: Path) -> None:
    world, agent_id = aged(tmp_path, "delete")
    before, runs = told(world, agent_id), runs_of(world, agent_id)
    world.engines.sweep.run()
    assert told(world, agent_id) == [before[0], *before[5:]]
    assert runs_of(world, agent_id) == runs[3:]
    head = world.head(agent_id)
    assert head.messages == 5
    world.send(agent_id, "five")
    assert "three" in str(world.models.requests[-1])
    assert "two" not in str(world.models.requests[-1].messages[1:])
    assert (world.head(agent_id).messages, len(told(world, agent_id))) == (7, 7)


def test_a_deleted_message_is_in_no_pack_any_more(tmp_path: Path) -> None:
    world, agent_id = aged(tmp_path, "archive")
    world.engines.sweep.run()
    assert packed_rows(world, agent_id) == 4
    world.clock.sleep(7_200)
    deleting = keeping(world, "delete")
    deleting.engines.sweep.run()
    deleting.clock.sleep(timedelta(days=8).total_seconds())
    deleting.engines.sweep.run()
    assert packs_of(world, agent_id) == []
    assert [row.text() for row in told(world, agent_id)][1:] == ["three", LONG, "four", LONG]


def test_a_conversation_with_a_pending_approval_keeps_its_messages_and_its_run(tmp_path: Path) -> None:
    opening, agent_id = opened(tmp_path, in_turn(says("done"), RING, says("done")), held=True)
    opening.send(agent_id, "first")
    run_id = opening.send(agent_id, "ring, please", approval_deadline=None)
    narrowed(opening, agent_id, 3)
    before = told(opening, agent_id)
    opening.clock.sleep(2 * DAYS_30.total_seconds())
    world = keeping(opening, "delete")
    world.engines.sweep.run()
    assert told(world, agent_id) == before
    assert world.stores.runs.get(run_id) is not None


def test_a_walk_that_takes_longer_than_a_week_comes_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_rounds, "ROWS", 3)
    monkeypatch.setattr(tenant_rounds, "ENTRIES", 2)
    world, agent_id = aged(tmp_path, "delete")
    before, runs = told(world, agent_id), runs_of(world, agent_id)
    for _ in range(12):
        world.engines.sweep.run()
        world.clock.sleep(timedelta(days=2).total_seconds())
    assert told(world, agent_id) == [before[0], *before[5:]]
    assert runs_of(world, agent_id) == runs[3:]


def test_a_message_that_was_in_the_window_leaves_at_the_next_weeks_walk(tmp_path: Path) -> None:
    world, agent_id = aged(tmp_path, "delete")
    world.engines.sweep.run()
    assert len(told(world, agent_id)) == 5
    narrowed(world, agent_id, 3)
    for _ in range(8):
        world.clock.sleep(timedelta(days=1).total_seconds())
        world.engines.sweep.run()
    assert [row.text() for row in told(world, agent_id)][1:] == ["four", LONG]


@pytest.mark.parametrize("mode", ["archive", "delete"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_sweep_that_dies_is_continued_by_the_next_one(
    tmp_path: Path, mode: Mode, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_rounds, "ROUND", timedelta())
    whole, _ = aged(tmp_path / "whole", mode)
    writes = _sweeping(whole, mode, at=-1, after=after)
    for at in range(writes):
        world, agent_id = aged(tmp_path / str(at), mode)
        before = told(world, agent_id)
        _sweeping(world, mode, at=at, after=after)
        left = told(world, agent_id)
        assert left == before if mode == "archive" else [row for row in before if row in left] == left
        world.clock.sleep(timedelta(days=8).total_seconds())
        keeping(world, mode).engines.sweep.run()
        assert told(world, agent_id) == (before if mode == "archive" else [before[0], *before[5:]])
        assert world.head(agent_id).messages == len(told(world, agent_id))


def _sweeping(world: World, mode: Mode, *, at: int, after: bool) -> int:
    """Sweep with a process that dies over one of its writes. Returns the number of writes that it made."""
    writes: list[int] = []

    def told_of(_number: int, kind: str) -> None:
        if kind == "before write":
            writes.append(1)
        if len(writes) == at + 1 and kind == ("after write" if after else "before write"):
            raise Died

    mortal = World(world.data, host={"retention": Retention(DAYS_30, mode)}, wrap=lambda table: CountingTable(table, told_of))
    if at < 0:
        mortal.engines.sweep.run()
    else:
        with pytest.raises(Died):
            mortal.engines.sweep.run()
    return len(writes)
