"""The sweep closes what never ends, and nothing else: who waits for his turn, or for a worker, is not given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.table import Update
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.runs.sweep import LONGEST_RUN, MARGIN, MOST_SWEEPS, TenantSweep
from hibernaut.store.table import keys
from tests.protocol.staged import RING, opened, takes_over
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_settled
from tests.support.world import TENANT


def test_a_run_that_no_worker_has_come_to_is_started_again_and_again_but_not_closed(tmp_path: Path) -> None:
    """Each worker of the house is at something long, or Lambda has no room."""
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    for _ in range(MOST_SWEEPS + 5):
        world.clock.sleep(70)
        assert world.engines.sweep.run().started == 1
    world.workflow.drive()
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN


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


def test_a_sweep_without_time_stops_and_the_next_one_goes_on(tmp_path: Path) -> None:
    world, _ = opened(tmp_path, in_turn(says("done")))
    for _ in range(20):
        world.accept(world.make_agent(), "hello")
    world.clock.sleep(70)
    for taken in (6, 6, 6, 2, 0):
        left = iter([MARGIN] * 6)
        assert world.engines.sweep.run(time_left=lambda left=left: next(left, 0.0)).started == taken  # type: ignore[misc]


def test_a_shard_full_of_due_items_delays_no_other_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = opened(tmp_path, in_turn(says("done")))
    crowd, rare = [f"run-{number}" for number in range(100)], "run-rare"
    due = {keys.shards()[0]: [keys.run(TENANT, one) for one in crowd], keys.shards()[-1]: [keys.run(TENANT, rare)]}
    monkeypatch.setattr(world.all_stores.due, "past", lambda shard, _now: due.get(shard, []))
    seen: list[str] = []
    monkeypatch.setattr(TenantSweep, "take_up", lambda _sweep, place: seen.append(keys.last_part(place.pk)) or "left")
    left = iter([MARGIN] * 3)
    world.engines.sweep.run(time_left=lambda: next(left, 0.0))
    assert seen == [crowd[0], rare, crowd[1]]
