"""An idle agent is packed into a blob, reads as before, and wakes at its next message."""

from __future__ import annotations

from datetime import timedelta
from itertools import count, pairwise
from pathlib import Path

import pytest

from hibernaut.services.resting import pack_writer, tenant_rounds
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.services.resting.resting import Resting
from hibernaut.store.agents.last_runs import RAN
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.packs import FORMAT, PACK, digest_of
from hibernaut.store.table.lists.logs import IdRange
from tests.protocol.staged import RING, opened
from tests.support.agent_documents import imported
from tests.support.agent_file_parts import file_of, message
from tests.support.agent_file_parts import talked as spoken
from tests.support.resting import (
    LONG,
    lasting,
    months_pass,
    packed_rows,
    packs_of,
    rows_of,
    runs_of,
    steps_of,
    talked,
    told,
    world_over,
)
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_valid
from tests.support.world import TENANT, World, data_in


def test_an_idle_agent_is_packed_into_one_blob_and_reads_as_before(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one", "two", "three")
    before = told(world, agent_id)
    months_pass(world)
    [pack] = packs_of(world, agent_id)
    assert packed_rows(world, agent_id) == len(before) - 1, "the prompt alone keeps its body"
    assert (pack["sha256"], pack["records"]) == (digest_of(world.data.blobs.get(str(pack["blob"]))), len(before) - 1)
    assert world.head(agent_id).resting
    assert told(world, agent_id) == before
    assert {row["v"] for row in rows_of(world, agent_id)[1:]} == {FORMAT}, "a release without packs must refuse them"


def test_its_runs_and_steps_read_as_before_too_and_stay_packed_when_it_wakes(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one", "two")
    runs, steps = runs_of(world, agent_id), steps_of(world, agent_id)
    months_pass(world)
    [pack] = world.data.table.query(keys.agent(TENANT, agent_id).pk, prefix=PACK)
    assert pack["records"] == 4, "two runs with a step each"
    world = world_over(world.data)
    assert (runs_of(world, agent_id), steps_of(world, agent_id)) == (runs, steps)
    world.send(agent_id, "three")
    assert runs_of(world, agent_id)[:2] == runs
    months_pass(world)
    packs = world.data.table.query(keys.agent(TENANT, agent_id).pk, prefix=PACK)
    assert [one["records"] for one in packs] == [4, 2]
    assert steps_of(world_over(world.data), agent_id)[:2] == steps


def test_nothing_is_packed_unless_a_setting_says_so(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one")
    plain = World(world.data)
    months_pass(plain)
    assert packs_of(world, agent_id) == []


def test_a_message_wakes_the_agent_with_the_window_that_it_had(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one", "two")
    before = rows_of(world, agent_id)
    months_pass(world)
    world = world_over(world.data)
    world.send(agent_id, "three")
    assert not world.head(agent_id).resting
    assert packed_rows(world, agent_id) == 0
    assert [lasting(row) for row in rows_of(world, agent_id)][1 : len(before)] == before[1:]
    assert all(text in str(world.models.requests[-1]) for text in ("one", "two", "three"))
    check_valid(told(world, agent_id))


def test_the_second_rest_packs_only_what_is_new(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one", "two")
    months_pass(world)
    [first] = packs_of(world, agent_id)
    world.send(agent_id, "three")
    before = told(world, agent_id)
    months_pass(world)
    packs = packs_of(world, agent_id)
    assert [pack["records"] for pack in packs] == [first["records"], 2]
    assert packed_rows(world, agent_id) == len(before) - 1
    assert told(world, agent_id) == before


def test_an_agent_that_waits_for_an_approval_does_not_rest(tmp_path: Path) -> None:
    opening, agent_id = opened(tmp_path, in_turn(RING, says("done")), held=True)
    opening.send(agent_id, "ring, please", approval_deadline=None)
    world = world_over(opening.data)
    assert world.head(agent_id).pending
    months_pass(world)
    assert packs_of(world, agent_id) == []


def test_a_long_log_is_packed_over_several_sweeps_in_several_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_rounds, "ROWS", 4)
    monkeypatch.setattr(pack_writer, "PACK_BYTES", 1_500)
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), *(f"message {number}" for number in range(6)))
    before, seen = told(world, agent_id), []
    world.clock.sleep(timedelta(days=60).total_seconds())
    for _ in range(8):
        world.engines.sweep.run()
        seen.append(packed_rows(world, agent_id))
        assert told(world, agent_id) == before
    assert seen == sorted(seen), "an attempt undid another one's work"
    assert max(later - earlier for earlier, later in pairwise(seen)) <= 4
    assert seen[-1] == len(before) - 1
    assert len(packs_of(world, agent_id)) > 2


def test_a_sweep_whose_time_is_up_leaves_a_pack_that_the_next_one_finishes(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one", "two", "three")
    before, looked = told(world, agent_id), count()
    later, resting = world.clock.now() + timedelta(days=1), Resting(world.stores, world.clock)
    assert not resting.rest(agent_id, idle_since=later, allowance=Allowance(1_000, lambda: next(looked) > 4))
    assert 0 < packed_rows(world, agent_id) < len(before) - 1
    assert told(world, agent_id) == before
    assert resting.rest(agent_id, idle_since=later, allowance=Allowance(1_000))
    assert packed_rows(world, agent_id) == len(before) - 1
    assert len(packs_of(world, agent_id)) == 1


def test_a_round_meets_each_idle_agent_once(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one")
    others = [world.make_agent() for _ in range(3)]
    for other in others:
        world.send(other, "one")
    months_pass(world)
    assert [world.head(one).resting for one in (agent_id, *others)] == [True] * 4
    assert world.stores.resting.listed(RAN, IdRange(world.stores.resting.walked(RAN).after), 10) == []


def test_an_imported_agent_that_has_never_run_rests_after_its_import_whatever_its_id(tmp_path: Path) -> None:
    world = world_over(data_in(tmp_path, in_turn(says(LONG))))
    rows = [message(number, "user" if number % 2 else "assistant", LONG) for number in range(1, 5)]
    ids = [f"agent-{start}0000000-0000-4000-8000-000000000001" for start in "0f"]
    document = file_of(*({**spoken(*rows), "id": one} for one in ids))
    imported(world, document, keep_ids=True, append_copy_suffix=False)
    before = [told(world, one) for one in ids]
    world.engines.sweep.run()
    assert [packed_rows(world, one) for one in ids] == [0, 0], "they were imported just now"
    months_pass(world)
    assert [packed_rows(world, one) for one in ids] == [4, 4]
    assert [told(world, one) for one in ids] == before
    world.send(ids[0], "hello")
    assert (packed_rows(world, ids[0]), world.head(ids[0]).resting) == (0, False)


def test_unpacking_brings_every_row_back_and_leaves_no_pack(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one", "two")
    before, parts = rows_of(world, agent_id), (runs_of(world, agent_id), steps_of(world, agent_id))
    months_pass(world)
    Resting(world.stores, world.clock).unpack(agent_id)
    assert [lasting(row) for row in rows_of(world, agent_id)] == before
    assert packs_of(world, agent_id) == []
    assert not any("/PACK/" in entry.key for entry in world.data.blobs.list("", limit=1_000))
    assert (runs_of(world, agent_id), steps_of(world, agent_id)) == parts
    months_pass(world)
    assert packed_rows(world, agent_id) == 0, "its place in the order of idle agents is passed until it runs again"
    world.send(agent_id, "three")
    months_pass(world)
    assert packed_rows(world, agent_id) == len(told(world, agent_id)) - 1


def test_a_deleted_agent_leaves_no_pack(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one")
    months_pass(world)
    world.stores.deletion.agent(agent_id)
    assert not any("/PACK/" in entry.key for entry in world.data.blobs.list("", limit=1_000))
    assert world.data.table.query(f"{TENANT}#CONV#{agent_id}", prefix=PACK) == []


def test_a_wake_that_fails_is_made_good_by_the_next_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), "one", "two")
    months_pass(world)

    def unreadable(key: str) -> bytes:
        raise OSError(key)

    world = world_over(world.data)
    with monkeypatch.context() as patch:
        patch.setattr(world.data.blobs, "get", unreadable)
        run_id = world.begin(agent_id, "three")
    world.workflow.drive()
    assert world.run(run_id).ended
    assert world.head(agent_id).resting
    assert packed_rows(world, agent_id) > 0
    world.send(agent_id, "four")
    assert not world.head(agent_id).resting
    assert packed_rows(world, agent_id) == 0
