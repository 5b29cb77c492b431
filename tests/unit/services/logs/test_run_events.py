"""The event log of a run as followers see it: contiguous, whole, the same for all, and never anything after `done`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Key, Table
from hibernaut.schemas.runs.events import DoneEvent, UsageEvent
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.logs.run_log import LoggedEvent
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import RevealsSlowly
from tests.support.world import World, data_in

RING = calls(("ring", {"x": "twice"}), text="Let me ring.")


def opened(folder: Path) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(RING, says("done"))))
    return world, world.make_agent(tools=("ring",))


def stray(world: World, run_id: str, seq: int) -> None:
    """An event from somewhere else, such as a dead attempt's delta."""
    event = UsageEvent(usage=LettaUsageStatistics())
    world.stores.writer.write(world.stores.runs.put_events(run_id, seq, [event], world.clock.now()))


@pytest.mark.parametrize("start", range(9))
def test_a_follower_that_comes_back_gets_what_it_has_not_seen(start: int, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.send(agent_id, "hello")
    everything = world.run_follower.events(run_id)
    assert [one.seq for one in everything] == list(range(1, len(everything) + 1))
    assert isinstance(everything[-1].event, DoneEvent)
    assert world.run_follower.events(run_id, start) == everything[start:]


def test_a_stray_event_in_a_steps_place_renumbers_the_steps_own(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    stray(world, run_id, 1)
    assert world.advance(run_id) == "advance"
    seen = world.run_follower.events(run_id)
    stray(world, run_id, len(seen) + 1)
    world.sweep()
    whole = world.run_follower.events(run_id)
    assert [type(one.event) for one in whole[:1]] == [UsageEvent]
    assert whole[: len(seen)] == seen, "what was shown at a number stays there"
    assert world.run(run_id).last_seq == len(whole)
    check_settled(world, agent_id)


def test_a_late_event_after_the_end_is_never_shown(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.send(agent_id, "hello")
    last = world.run(run_id).last_seq
    before = world.run_follower.events(run_id)
    stray(world, run_id, last + 1)
    assert world.run_follower.events(run_id) == before
    assert world.run_follower.events(run_id, last) == []


def test_what_comes_after_a_gap_waits_until_the_gap_is_filled(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    stray(world, run_id, 2)
    assert world.run_follower.events(run_id) == []
    stray(world, run_id, 1)
    assert [one.seq for one in world.run_follower.events(run_id)] == [1, 2]


Order = Callable[[Sequence[Key]], Sequence[Key]]


def forwards(found: Sequence[Key]) -> Sequence[Key]:
    return list(found)


def backwards(found: Sequence[Key]) -> Sequence[Key]:
    return list(reversed(found))


def run_first(found: Sequence[Key]) -> Sequence[Key]:
    return sorted(found, key=lambda key: (key.sk != "RUN", key.sk.startswith("EV#"), key.sk))


def events_first(found: Sequence[Key]) -> Sequence[Key]:
    return sorted(found, key=lambda key: (not key.sk.startswith("EV#"), key.sk))


@pytest.mark.parametrize("order", [forwards, backwards, run_first, events_first])
def test_a_follower_between_the_items_of_a_transaction_sees_nothing_out_of_order_and_no_event_without_its_message(
    order: Order, tmp_path: Path
) -> None:
    """A follower may be behind. What it was shown once is never different later."""
    plain, agent_id = opened(tmp_path)
    shown: dict[int, LoggedEvent] = {}

    def look() -> None:
        if run_ids:
            following = World(plain.data, wrap=lambda _: slow[0]).run_follower
            after = max(shown, default=0)
            for place, one in enumerate(following.events(run_ids[0], after), after + 1):
                assert one.seq == place
                shown[one.seq] = one

    slow: list[Table] = []
    run_ids: list[str] = []

    def wrap(table: Table) -> Table:
        slow.append(RevealsSlowly(table, order=order, meanwhile=look))
        return slow[0]

    world = World(plain.data, wrap=wrap)
    run_ids.append(world.begin(agent_id, "hello"))
    world.workflow.drive()
    truth = plain.run_follower.events(run_ids[0])
    assert [shown[seq] for seq in sorted(shown)] == truth
