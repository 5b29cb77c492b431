"""An occurrence of a schedule has exactly one run, whoever fires it: two workers at once, one that dies, one whose write gets no
answer, late or again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, Thread

from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.ports.storage.table import OutcomeUnknown, Table
from hibernaut.schemas.agents.schedule import CreateSchedule, RecurringSchedule, ScheduledMessageCreate, UpdateSchedule
from tests.support.scripted_model import in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World, data_in

FIVE = 300
MANY = 150


class Died(BaseException):
    """The process is no more."""


Strike = Callable[[], object]
strikes = st.tuples(
    st.sampled_from(("other", "dies", "unanswered")), st.sampled_from(("before write", "after write")), st.integers(1, 3)
)
steps = st.lists(st.tuples(st.sampled_from((0, 60, 240, FIVE, 960)), strikes), min_size=1, max_size=5)


def struck(world: World, kind: str, number: int, strike: Strike) -> World:
    """A process over the same data, to which something happens at one of its writes."""
    seen = 0

    def at(_: int, place: str) -> None:
        nonlocal seen
        seen += place == kind
        if place == kind and seen == number:
            strike()

    def watched(table: Table) -> Table:
        return CountingTable(table, at)

    return World(world.data, holder="host:2", alone=False, wrap=watched)


def dies() -> None:
    raise Died


def unanswered() -> None:
    raise OutcomeUnknown("no answer")


@settings(max_examples=25, deadline=None)
@given(steps=steps)
def test_each_time_has_one_run(steps: list[tuple[int, tuple[str, str, int]]]) -> None:
    with TemporaryDirectory() as folder:
        world = World(data_in(Path(folder), in_turn(says("done"))))
        agent = world.make_agent()
        made = world.chain.schedules.create(
            agent,
            CreateSchedule(
                messages=[ScheduledMessageCreate(role="user", content="wake up")],
                schedule=RecurringSchedule(cron_expression="*/5 * * * *"),
            ),
            None,
        )
        expected, last = [], int(world.clock.now().timestamp()) // FIVE * FIVE
        for passed, (how, kind, number) in steps:
            world.clock.sleep(passed)
            newest = int(world.clock.now().timestamp() + 1) // FIVE * FIVE
            if newest > last:
                expected.append(f"{made.id}:{newest * 1000}")
                last = newest
            strike = {"other": lambda: world.chain.firing.fire(made.id), "dies": dies, "unanswered": unanswered}[how]
            with suppress(Died):
                struck(world, kind, number, strike).chain.firing.fire(made.id)
            world.chain.firing.fire(made.id)
        for _ in range(3):
            world.clock.sleep(1_000)
            # Only runs are taken up: the schedule's later times are not part of this story.
            world.engines.sweep.run()
            world.workflow.drive()
        heard = [row.otid for row in world.log(agent) if row.role == "user"]
        assert heard == expected
        told = [str(each.run_id) for each in world.chain.schedules.retrieve(made.id, agent).outcomes]
        assert told == [row.run_id for row in world.log(agent) if row.role == "user"][::-1][:10]


def test_many_schedules_of_one_minute_all_run_and_none_twice(tmp_path: Path) -> None:
    """Two workers go through all of them at the same time, in opposite orders."""
    world = World(data_in(tmp_path, in_turn(says("done"))))
    agents = [world.make_agent() for _ in range(10)]
    places = []
    for number in range(MANY):
        request = CreateSchedule(
            messages=[ScheduledMessageCreate(role="user", content=str(number))],
            schedule=RecurringSchedule(cron_expression="*/5 * * * *"),
        )
        places.append(world.chain.schedules.create(agents[number % 10], request, None).id)
    world.clock.sleep(60)
    other, together = World(world.data, holder="host:2", alone=False), Barrier(2)
    fired: list[str] = []

    def work(process: World, ids: list[str]) -> None:
        together.wait()
        fired.extend(process.chain.firing.fire(schedule_id) for schedule_id in ids)

    threads = [Thread(target=work, args=(world, places)), Thread(target=work, args=(other, places[::-1]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (fired.count("fired"), fired.count("early")) == (MANY, MANY)
    world.workflow.drive()
    other.workflow.drive()
    heard = [row.otid for agent in agents for row in world.log(agent) if row.role == "user"]
    assert {str(otid).partition(":")[0] for otid in heard} == set(places)
    assert len(heard) == MANY


def test_a_schedule_that_is_paused_or_changed_while_it_fires_does_not_run(tmp_path: Path) -> None:
    """The change comes between the worker's decision and its first write."""
    world = World(data_in(tmp_path, in_turn(says("done"))))
    agent, schedules = world.make_agent(), world.chain.schedules
    request = CreateSchedule(
        messages=[ScheduledMessageCreate(role="user", content="wake up")],
        schedule=RecurringSchedule(cron_expression="*/5 * * * *"),
    )
    later = UpdateSchedule(schedule=RecurringSchedule(cron_expression="0 0 * * *"))
    paused, changed, deleted = (schedules.create(agent, request, None).id for _ in range(3))
    world.clock.sleep(60)
    for schedule_id, strike, fired in (
        (paused, lambda: schedules.pause(paused, agent), "early"),
        (changed, lambda: schedules.update(changed, agent, later, None), "early"),
        (deleted, lambda: schedules.delete(deleted, agent), "gone"),
    ):
        assert struck(world, "before write", 1, strike).chain.firing.fire(schedule_id) == fired
    assert [row for row in world.log(agent) if row.role == "user"] == []
    assert schedules.retrieve(paused, agent).paused
