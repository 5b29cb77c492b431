"""Wherever a process dies over a rest, a wake or an unpacking, every message can be read, none twice, and the next process goes
on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Table
from hibernaut.services.resting.resting import Resting
from hibernaut.store.conversations.resting import UNFINISHED
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.packs import PACK, PACKED
from tests.support.resting import LONG, months_pass, packed_rows, packs_of, rows_of, steps_of, talked, told, world_over
from tests.support.scripted_model import in_turn, says
from tests.support.tables import Watched
from tests.support.world import TENANT, World


class Died(BaseException):
    """The process."""


def die() -> None:
    raise Died


def watched_over(world: World) -> tuple[World, Watched]:
    tables: list[Watched] = []

    def wrap(table: Table) -> Table:
        tables.append(Watched(table))
        return tables[-1]

    made = world_over(world.data, wrap)
    tables[0].act = die
    return made, tables[0]


Work = Callable[[World, str], object]


def rest(world: World, _agent_id: str) -> None:
    months_pass(world)


def wake(world: World, agent_id: str) -> None:
    world.begin(agent_id, "three", otids=["third"])


def unpack(world: World, agent_id: str) -> None:
    Resting(world.stores, world.clock).unpack(agent_id)


def staged(folder: Path, *, resting: bool) -> tuple[World, str]:
    world, agent_id = talked(folder, in_turn(says(LONG)), "one", "two")
    if resting:
        months_pass(world)
    return world, agent_id


def deaths(folder: Path, work: Work, *, resting: bool) -> int:
    """How many writes the work makes."""
    world, agent_id = staged(folder, resting=resting)
    living, watched = watched_over(world)
    work(living, agent_id)
    return watched.writes


def dead(folder: Path, work: Work, at: int, *, after: bool, resting: bool) -> tuple[World, str]:
    """What a process leaves that died over the work at this write."""
    world, agent_id = staged(folder, resting=resting)
    mortal, watched = watched_over(world)
    watched.at, watched.after = at, after
    with pytest.raises(Died):
        work(mortal, agent_id)
    return world_over(world.data), agent_id


def no_blob_is_left_over(world: World, agent_id: str) -> bool:
    """Whether the packs' blobs are those that the packs' items name, at the latest when the collector has come by."""
    months_pass(world, 1)
    runs = world.data.table.query(keys.agent(TENANT, agent_id).pk, prefix=PACK)
    named = {str(pack["blob"]) for pack in (*packs_of(world, agent_id), *runs)}
    return {entry.key for entry in world.data.blobs.list("", limit=1_000) if "/PACK/" in entry.key} == named


def check_free(world: World, agent_id: str) -> None:
    """Checks that no run is open, and that the head counts the rows."""
    head, log = world.head(agent_id), told(world, agent_id)
    assert (head.owner, head.waiting, head.pending) == (None, 0, None)
    assert (head.last_message, head.messages) == (log[-1].id, len(log))
    assert world.all_stores.due.all() == []


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_rest_goes_on_wherever_its_process_died(tmp_path: Path, after: bool) -> None:
    count = deaths(tmp_path / "whole", rest, resting=False)
    assert count > 8
    for at in range(count):
        folder = tmp_path / str(at)
        world, agent_id = dead(folder, rest, at, after=after, resting=False)
        before = told(world, agent_id)
        assert len(before) == 5
        parts = steps_of(world_over(world.data), agent_id)
        assert len(parts) == 2
        months_pass(world)
        assert told(world, agent_id) == before
        assert steps_of(world_over(world.data), agent_id) == parts
        assert packed_rows(world, agent_id) == 4
        assert not any(UNFINISHED in pack for pack in packs_of(world, agent_id))
        assert no_blob_is_left_over(world, agent_id)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_message_that_wakes_an_agent_is_answered_once_wherever_its_process_died(tmp_path: Path, after: bool) -> None:
    count = deaths(tmp_path / "whole", wake, resting=True)
    assert count == 3, "the acceptance, the rows, the head"
    for at in range(count):
        world, agent_id = dead(tmp_path / str(at), wake, at, after=after, resting=True)
        wake(world, agent_id)
        world.sweep()
        log = told(world, agent_id)
        assert [row.role for row in log] == ["system", *["user", "assistant"] * 3]
        assert len({row.id for row in log}) == 7
        check_free(world, agent_id)
        world.send(agent_id, "four")
        assert not world.head(agent_id).resting
        assert packed_rows(world, agent_id) == 0


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_an_unpacking_goes_on_wherever_its_process_died(tmp_path: Path, after: bool) -> None:
    for at in range(deaths(tmp_path / "whole", unpack, resting=True)):
        world, agent_id = dead(tmp_path / str(at), unpack, at, after=after, resting=True)
        before, parts = told(world, agent_id), steps_of(world, agent_id)
        assert (len(before), len(parts)) == (5, 2)
        unpack(world, agent_id)
        assert told(world, agent_id) == before
        assert steps_of(world_over(world.data), agent_id) == parts
        assert packs_of(world, agent_id) == []
        assert not any(PACKED in row for row in rows_of(world, agent_id))


def test_a_worker_that_was_late_gives_no_row_to_a_pack_that_is_gone(tmp_path: Path) -> None:
    for at in range(deaths(tmp_path / "whole", rest, resting=False)):
        world, agent_id = staged(tmp_path / str(at), resting=False)
        late, watched = watched_over(world)
        watched.at, watched.act = at, lambda world=world, agent_id=agent_id: unpack(world, agent_id)  # type: ignore[misc]
        before, parts = told(world, agent_id), steps_of(world, agent_id)
        rest(late, agent_id)
        assert told(world, agent_id) == before
        assert steps_of(world_over(world.data), agent_id) == parts
        packs = {pack["sk"] for pack in packs_of(world, agent_id)}
        named = {f"PACK#{str(row[PACKED]).partition('/')[0]}" for row in rows_of(world, agent_id) if PACKED in row}
        assert named <= packs


def test_a_message_between_any_two_writes_of_a_rest_is_answered_with_the_whole_window(tmp_path: Path) -> None:
    for at in range(deaths(tmp_path / "whole", rest, resting=False)):
        world, agent_id = staged(tmp_path / str(at), resting=False)
        other, watched = watched_over(world)
        watched.at, watched.act = at, lambda world=world, agent_id=agent_id: world.send(agent_id, "three")  # type: ignore[misc]
        rest(other, agent_id)
        assert all(text in str(world.models.requests[-1]) for text in ("one", "two", "three"))
        log = told(world, agent_id)
        assert [row.role for row in log] == ["system", *["user", "assistant"] * 3]
        check_free(world, agent_id)
