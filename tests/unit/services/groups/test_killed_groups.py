"""A process may die at any access to the table while a group gets its first message or is deleted (decision 47)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

from hibernaut.domain.agents.agent_calls import ALL_CALLS
from hibernaut.ports.storage.table import Change
from hibernaut.store.deletion import TAKEN_UP_MS
from hibernaut.store.table import keys
from tests.support.groups import accept_in, groups_of, log_of, made_group, send_in
from tests.support.scripted_model import in_turn, says
from tests.support.tables import CountingTable, PassesOn
from tests.support.world import TENANT, World, data_in

STEP = 3
"""The distance of the points at which a process dies: before and after accesses alternate, so it is odd."""


class Died(BaseException):
    """The process."""


def dying_at(point: int) -> Callable[[int, str], None]:
    def on_call(number: int, kind: str) -> None:
        del kind
        if number == point:
            raise Died

    return on_call


def group_in(folder: Path) -> tuple[World, str, list[str]]:
    world = World(data_in(folder, in_turn(says("Yes."))))
    ids = [world.make_agent(), world.make_agent()]
    return world, made_group(world, ids).id, ids


def walked(
    folder: Path, act: Callable[[World, str], object], check: Callable[[World, str, list[str]], None], *, sends: bool
) -> int:
    """Perform the act with a death at each point, then check what the next process makes of it; returns the number of points."""
    for place in count(1, STEP):
        world, group_id, ids = group_in(folder / str(place))
        if sends:
            send_in(world, group_id, "hello")
        on_call = dying_at(place)
        try:
            act(World(replace(world.data, table=CountingTable(world.data.table, on_call))), group_id)
        except Died:
            check(World(world.data, holder="host:2"), group_id, ids)
            continue
        return place
    raise AssertionError


def test_the_first_message_is_accepted_once_wherever_the_process_dies(tmp_path: Path) -> None:
    def act(world: World, group_id: str) -> None:
        accept_in(world, group_id, "hello", digest="same")

    def check(world: World, group_id: str, ids: list[str]) -> None:
        accept_in(world, group_id, "hello", digest="same", retry=1)
        world.sweep()
        assert [kind for kind, _, _ in log_of(world, group_id)] == ["user_message", "assistant_message", "assistant_message"]
        assert [len([row for row in world.log(one) if row.run_id and row.role == "user"]) for one in ids] == [1, 1]
        assert world.stores.agents.count(hidden=True) == 2

    assert walked(tmp_path, act, check, sends=False) > 3 * STEP


def test_a_deletion_is_completed_by_the_sweep_wherever_the_process_dies(tmp_path: Path) -> None:
    def check(world: World, group_id: str, ids: list[str]) -> None:
        if world.stores.groups.get(group_id) is not None:
            assert len(log_of(world, group_id)) == 3, "nothing is half deleted"
            groups_of(world).delete(group_id)
        world.clock.sleep(timedelta(milliseconds=TAKEN_UP_MS + 1).total_seconds())
        world.engines.sweep.run()
        for place in (keys.agent(TENANT, group_id), keys.head(TENANT, group_id), keys.gone(TENANT, group_id)):
            assert world.data.table.query(place.pk) == []
        assert all(world.stores.agents.get(one) for one in ids)
        assert world.all_stores.due.all() == []

    assert walked(tmp_path, lambda world, group_id: groups_of(world).delete(group_id), check, sends=True) > 5 * STEP


class OpensMeanwhile(PassesOn):
    """A table that executes `by` once, immediately before the first write."""

    by: Callable[[], object] | None = None

    def write(self, *changes: Change) -> None:
        by, self.by = self.by, None
        if by is not None:
            by()
        super().write(*changes)


def test_a_deletion_sees_the_first_message_of_the_same_moment(tmp_path: Path) -> None:
    world, group_id, _ = group_in(tmp_path)
    table = OpensMeanwhile(world.data.table)
    table.by = lambda: send_in(world, group_id, "hello")
    groups_of(World(replace(world.data, table=table))).delete(group_id)
    assert world.data.table.query(keys.head(TENANT, group_id).pk) == []


def test_the_calls_of_groups_cannot_be_attached_to_an_agent(tmp_path: Path) -> None:
    world, _, _ = group_in(tmp_path)
    assert len(world.stores.tools.by_name(ALL_CALLS)) == 3
