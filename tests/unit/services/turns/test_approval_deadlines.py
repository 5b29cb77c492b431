"""The deadlines of approvals: who is not answered in time is denied, by a run of its own."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.stop import StopReason
from tests.support.clocks import ManualClock
from tests.support.settled import check_valid
from tests.support.world import World
from tests.unit.services.turns.test_approvals import RING, asked, opened, returned


def passes(world: World, seconds: float) -> None:
    assert isinstance(world.clock, ManualClock)
    world.clock.sleep(seconds)


def test_an_approval_that_nobody_answers_is_denied_by_its_deadline_in_a_run_of_its_own(tmp_path: Path) -> None:
    world, agent_id, asking = asked(tmp_path, approval_deadline=600)
    passes(world, 500)
    assert world.engines.sweep.run().started == 0
    passes(world, 200)
    assert world.engines.sweep.run().started == 1
    world.workflow.drive()
    assert "Nobody answered in time" in returned(world, agent_id)[RING]
    denied_by = world.stores.approvals.get(asking)
    assert denied_by is not None
    run = world.run(denied_by.record.consumed_by or "").run
    assert (run.background, run.metadata, run.stop_reason) == (True, {"run_type": "approval_deadline"}, StopReason.END_TURN)
    check_valid(world.log(agent_id))


def test_without_a_deadline_an_approval_waits_for_ever(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path, approval_deadline=None)
    assert world.chain.turns.advance(run_id).next == "finished"
    passes(world, 3600 * 24 * 365)
    assert world.engines.sweep.run().started == 0
    assert world.head(agent_id).pending == run_id


def test_the_agents_own_deadline_counts_where_the_request_gives_none(tmp_path: Path) -> None:
    world, _agent_id, run_id = asked(tmp_path)
    record = world.stores.approvals.get(run_id)
    assert record is not None
    assert record.record.deadline is not None
    assert record.record.deadline - record.record.asked_at == timedelta(days=7)


@pytest.mark.parametrize("deadline", [0, -5, "2020-01-01T00:00:00Z"])
def test_a_deadline_in_the_past_is_refused(deadline: int | str, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    with pytest.raises(InvalidArgument, match="must lie in the future"):
        world.accept(agent_id, "hello", approval_deadline=deadline)
