"""The rules by which runs follow one another and are followed: each in the shortest story that goes wrong without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.schemas.runs.events import UsageEvent
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.tool_calls.tool_execution import INTERRUPTED
from tests.protocol.staged import RING, Died, meanwhile, opened, returns, run_ids, settles
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_settled
from tests.support.world import World


def stray(world: World, run_id: str, seq: int) -> None:
    """An event of somebody else, such as a dead attempt's delta."""
    event = UsageEvent(usage=LettaUsageStatistics())
    world.stores.writer.write(world.stores.runs.put_events(run_id, seq, [event], world.clock.now()))


def numbers(world: World, run_id: str, after: int = 0) -> list[int]:
    return [one.seq for one in world.run_follower.events(run_id, after)]


def test_rule_end_sees_the_journal(tmp_path: Path) -> None:
    """When a cancel has read the run and not yet ended it, the run's reply is journaled and its tool called."""
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_id = plain.accept(agent_id, "hello").run_id

    def rings() -> None:
        def dies(place: str) -> None:
            if place == "after tool":
                raise Died

        plain.runner.at = dies
        with pytest.raises(Died):
            plain.advance(run_id)

    canceller = meanwhile(plain, rings, lambda: True)
    canceller.chain.termination.end(run_id, StopReason.CANCELLED)
    assert len(plain.runner.effects) == 1
    assert [INTERRUPTED in text for text in returns(plain, agent_id)] == [True]
    check_settled(plain, agent_id)


def test_rule_waiting_is_counted_in_the_head(tmp_path: Path) -> None:
    """A message is queued when the run before it has looked at the queue and is about to end."""
    plain, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = plain.accept(agent_id, "hello").run_id
    world = meanwhile(plain, lambda: plain.accept(agent_id, "me too"), lambda: bool(plain.models.requests))
    world.advance(run_id)
    world.workflow.drive()
    settles(plain)
    assert [row.text() for row in plain.log(agent_id) if row.role == "user"] == ["hello", "me too"]
    check_settled(plain, agent_id)


def test_rule_late_original_attaches(tmp_path: Path) -> None:
    """A retry overtakes its original, which comes once; who says the same for a third time means it."""
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    retry = world.accept(agent_id, "hello", digest="same", retry=1)
    late = world.accept(agent_id, "hello", digest="same", retry=0)
    assert (late.attached, late.run_id) == (True, retry.run_id)
    assert not world.accept(agent_id, "hello", digest="same", retry=0).attached
    assert len(run_ids(world, agent_id)) == 2


def test_rule_contiguous_events(tmp_path: Path) -> None:
    """What stands behind a gap is shown when the gap is filled."""
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    stray(world, run_id, 2)
    assert numbers(world, run_id) == []
    stray(world, run_id, 1)
    assert numbers(world, run_id) == [1, 2]


def test_rule_committed_events_are_put_if_absent(tmp_path: Path) -> None:
    """A zombie's delta stands where the step's events would: two followers never see two events at one number."""
    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_id = world.accept(agent_id, "hello").run_id
    stray(world, run_id, 1)
    before = world.stores.runs.events(run_id, 0, world.clock.now())
    world.reborn().sweep()
    after = world.stores.runs.events(run_id, 0, world.clock.now())
    assert after[:1] == before
    assert [seq for seq, _ in after] == list(range(1, world.run(run_id).last_seq + 1))
    check_settled(world, agent_id)


def test_rule_run_knows_its_last_seq(tmp_path: Path) -> None:
    """A late delta after `done` is shown to nobody, and who has seen all is told so."""
    world, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = world.send(agent_id, "hello")
    last = world.run(run_id).last_seq
    stray(world, run_id, last + 1)
    assert numbers(world, run_id)[-1] == last
    assert numbers(world, run_id, last) == []
    log = world.run_follower.log(run_id)
    assert [one.seq for one in log.look()][-1] == last
    assert log.look() == []
    assert log.done
