"""The sweep closes what never ends, and nothing else: who waits for his turn, or for a worker, is not given up."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import pytest

from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import Update
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.runs import sweep as sweep_module
from hibernaut.services.runs.sweep import MARGIN, Sweep
from hibernaut.services.runs.tenant_sweep import LONGEST_PAUSE_MS, LONGEST_RUN, MOST_SWEEPS, PROMPT_RESTARTS
from hibernaut.store.table import keys
from hibernaut.store.table.lists.logs import IdRange
from tests.protocol.staged import RING, opened, takes_over
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_settled
from tests.support.world import TENANT


def test_a_run_that_no_worker_has_come_to_is_started_again_and_again_but_not_closed(tmp_path: Path) -> None:
    """Each worker of the house is at something long, or Lambda has no room."""
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    for _ in range(MOST_SWEEPS + 5):
        world.clock.sleep(LONGEST_PAUSE_MS / 1000 + 10)
        assert world.engines.sweep.run().started == 1
    world.workflow.drive()
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN


def test_a_run_whose_workers_fail_before_they_take_a_step_is_restarted_less_and_less_often(tmp_path: Path) -> None:
    """A deployment that cannot run: each execution fails, and its end is reported at once."""
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    own, starts = world.engines.of(TENANT).sweep, []
    for minute in range(90):
        world.clock.sleep(60)
        swept = world.engines.sweep.run().started
        swept += own.take_up_one(run_id, after=world.run(run_id).sweeps).started
        starts += [minute] * swept
    assert [later - earlier for earlier, later in pairwise(starts)] == [0, 1, 1, 2, 4, 8, 15, 15, 15, 15]
    world.workflow.drive()
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN


def test_a_run_whose_worker_died_in_a_step_is_restarted_at_once(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    own = world.engines.of(TENANT).sweep
    assert [own.take_up_one(run_id, after=sweeps).started for sweeps in range(PROMPT_RESTARTS + 1)] == [1] * PROMPT_RESTARTS + [0]
    world.data.table.write(world.stores.runs.take(world.run(run_id), replace(world.run(run_id), attempt=1)))
    assert own.take_up_one(run_id, after=PROMPT_RESTARTS).started == 1


def test_a_sweep_postpones_a_run_that_a_worker_holds_and_takes_it_up_after_its_lease(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    lease = int(world.clock.now().timestamp() * 1000) + 600_000
    held = replace(world.run(run_id), attempt=1, lease=lease, holder=world.host.holder)
    world.data.table.write(world.stores.runs.take(world.run(run_id), held))
    place = world.data.table.get(keys.run(TENANT, run_id))
    assert place is not None
    started = []
    for _ in range(3):
        world.clock.sleep(300)
        started.append(world.engines.sweep.run().started)
    assert started == [0, 0, 1]
    assert place["due_sk"] < f"{lease:013d}"


def test_as_many_runs_are_taken_up_at_once_as_the_sweep_has_threads(tmp_path: Path) -> None:
    world, _ = opened(tmp_path, in_turn(says("done")))
    for _ in range(6):
        world.accept(world.make_agent(), "hello")
    world.clock.sleep(70)
    together, start = Barrier(3, timeout=20), world.workflow.start

    def meets(run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        together.wait()
        start(run, name=name, inline=inline)

    world.workflow.start = meets  # type: ignore[method-assign]
    sweep = Sweep(world.all_stores, replace(world.host, threads=3), lambda tenant: world.engines.of(tenant).sweep)
    assert sweep.run().started == 6
    assert len({run.run_id for run in world.workflow.started}) == 6


def test_a_run_that_nobody_comes_to_for_a_day_is_closed(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    world.clock.sleep(LONGEST_RUN.total_seconds() + 1)
    assert world.engines.sweep.run().closed == 1
    assert world.run(run_id).run.status is RunStatus.FAILED


def test_a_run_that_waited_for_days_for_its_turn_and_whose_start_is_lost_is_taken_up(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(RING, says("done")), held=True)
    asking = world.send(agent_id, "hello")
    waiting = world.accept(agent_id, "me too", when_busy="queue").run_id
    world.clock.sleep(1.5 * LONGEST_RUN.total_seconds())
    world.chain.termination.end(asking, StopReason.CANCELLED)
    world.workflow.started.clear()
    other = takes_over(world)
    assert other.engines.sweep.run().started == 1
    other.workflow.drive()
    assert world.run(waiting).run.stop_reason is StopReason.END_TURN
    check_settled(world, agent_id)


def test_a_run_that_nobody_can_read_any_more_keeps_no_other_from_being_taken_up(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    spoilt = [world.accept(world.make_agent(), "hello").run_id for _ in range(8)]
    run_id = world.accept(agent_id, "hello").run_id
    for one in spoilt:
        world.data.table.write(Update(keys.run(TENANT, one), set={"body": "{"}))
    world.clock.sleep(70)
    assert world.engines.sweep.run().started == 1
    world.workflow.drive()
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN


def test_an_item_that_cannot_be_read_is_told_by_each_minutes_sweep(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    world.data.table.write(Update(keys.run(TENANT, run_id), set={"body": "{"}))
    for minute in range(5):
        world.clock.sleep(60)
        world.engines.sweep.run()
        assert caplog.messages.count("run could not be swept") == minute + 1


def test_a_sweep_without_time_stops_and_the_next_one_goes_on(tmp_path: Path) -> None:
    world, _ = opened(tmp_path, in_turn(says("done")))
    for _ in range(20):
        world.accept(world.make_agent(), "hello")
    world.clock.sleep(70)
    for taken in (6, 6, 6, 2, 0):
        left = iter([MARGIN] * 6)
        assert world.engines.sweep.run(time_left=lambda left=left: next(left, 0.0)).started == taken  # type: ignore[misc]


def test_a_shard_full_of_due_items_delays_no_other_shard(tmp_path: Path) -> None:
    world, _ = opened(tmp_path, in_turn(says("done")))
    ids = [world.accept(world.make_agent(), "hello").run_id for _ in range(100)]
    shards = [keys.due(run_id, 0)["due_pk"] for run_id in ids]
    crowd, rare = (sorted(shards, key=shards.count)[place] for place in (-1, 0))
    for run_id, shard in zip(ids, shards, strict=True):
        if shard not in (crowd, rare):
            world.stores.writer.write(Update(keys.run(TENANT, run_id), remove=("due_pk", "due_sk")))
    world.clock.sleep(70)
    left = iter([MARGIN] * 2)
    assert world.engines.sweep.run(time_left=lambda: next(left, 0.0)).started == 2
    assert {shards[ids.index(run.run_id)] for run in world.workflow.started} == {crowd, rare}


def test_due_items_of_any_number_are_read_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "PAGE", 1)
    world, _ = opened(tmp_path, in_turn(says("done")))
    for _ in range(100):
        world.accept(world.make_agent(), "hello")
    world.clock.sleep(70)
    assert [world.engines.sweep.run().started for _ in range(2)] == [100, 0]


def test_what_older_versions_put_into_the_index_is_swept_and_moves_to_its_new_shard(tmp_path: Path) -> None:
    """Their shards were eight, by the same hash."""
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    ids = [world.accept(world.make_agent(), "hello").run_id for _ in range(20)]
    for run_id in ids:
        older = {"due_pk": f"DUE#{sha256(run_id.encode()).digest()[0] % 8:02x}"}
        listed = {"list_pk": f"{TENANT}#OPENRUNS#{sha256(run_id.encode()).digest()[0] % 8:02x}"}
        world.data.table.write(Update(keys.run(TENANT, run_id), set={**older, **listed}))
    assert len(list(world.stores.runs.walk_open(IdRange(), first=50))) == 20
    world.clock.sleep(70)
    assert world.engines.sweep.run().started == 20
    places = {run_id: world.data.table.get(keys.run(TENANT, run_id))["due_pk"] for run_id in ids}  # type: ignore[index]
    assert places == {run_id: keys.due(run_id, 0)["due_pk"] for run_id in ids}
    world.workflow.drive()
    check_settled(world, agent_id)
