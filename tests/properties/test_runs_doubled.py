"""Two workers at one run: the first is held up until its lease is over, the second takes over and is held up too, the first goes on.

Every point of the first is tried with every write of the second (architecture 3, invariants 3, 4 and 5). Only one thread runs at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.crash.scenarios import STORIES, Story, check_story
from tests.support.scripted_model import nothing
from tests.support.tables import CountingTable
from tests.support.world import TENANT, Data, World, data_in

PATIENCE = 60.0
"""Seconds after which a thread that should be at its point or at its end is stuck."""
BY_NAME = {story.name: story for story in STORIES}


class Worker:
    """A house in a thread of its own that stops at some of its points, counted from 1, and waits there to be let go on."""

    def __init__(self, data: Data, holder: str, counts: Callable[[str], bool], *stops: int) -> None:
        self._stops, self._counts = stops, counts
        self.places: list[str] = []
        self._still, self._go = threading.Event(), threading.Event()
        self.world = World(
            data, holder=holder, alone=False, wrap=lambda table: CountingTable(table, lambda _, kind: self.point(kind))
        )
        self.failure: BaseException | None = None
        self.asked_again = False

    def point(self, place: str) -> None:
        if place == "before model":
            self._look()
        if not self._counts(place):
            return
        self.places.append(place)
        if len(self.places) in self._stops:
            self._still.set()
            assert self._go.wait(PATIENCE)
            self._go.clear()

    def _look(self) -> None:
        """A journaled reply may not be asked for again by whoever holds the step."""
        for run_id in self.world.data.sent:
            state = World(self.world.data).run(run_id)
            self.asked_again |= state.holder == self.world.host.holder and state.journal != ""

    def start(self, work: Callable[[], None]) -> None:
        """Go on until the point is reached, or all is done."""

        def body() -> None:
            try:
                work()
            except BaseException as failure:  # noqa: BLE001  shown by `end`, in the test's own thread
                self.failure = failure
            self._still.set()

        self._thread = threading.Thread(target=body, name=self.world.host.holder)
        self._thread.start()
        assert self._still.wait(PATIENCE)

    def on(self) -> None:
        """Go on until the next point, or the end."""
        self._still.clear()
        self._go.set()
        assert self._still.wait(PATIENCE)

    def end(self) -> None:
        self._stops = ()
        self._go.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure


def everything(world: World) -> None:
    world.chain.sweep.run()
    world.workflow.drive()


BEFORE = ("before get", "before get_many", "before query", "before write", "before model", "before tool")


def race(story: Story, folder: Path, first_at: Sequence[int], second_at: int) -> tuple[Worker, Worker]:
    """The first house up to its point, the second up to its own, the first up to its next point if it has one, the second, the first."""
    data = data_in(folder, story.script)
    first = Worker(data, "host:1", lambda place: place in BEFORE, *first_at)
    second = Worker(data, "host:2", lambda place: place in ("before write", "before model"), second_at)
    agent_id = World(data).make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=story.tools)
    workers = {worker.world.host.holder: worker for worker in (first, second)}
    data.models.at = data.runner.at = lambda place: workers[threading.current_thread().name].point(place)
    data.runner.does = story.does(World(data), agent_id)
    first.start(lambda: story.happens(first.world, agent_id))
    data.clock.sleep(1000)
    second.start(lambda: everything(second.world))
    first.on()
    second.end()
    first.end()
    data.models.at = data.runner.at = nothing
    assert not [worker for worker in (first, second) if worker.asked_again], "a journaled reply was asked for again"
    last = World(data, holder="host:3", alone=False)
    for _ in range(3):
        data.clock.sleep(1000)
        everything(last)
    check_story(last, story, agent_id)
    return first, second


@pytest.mark.parametrize("name", ["a plain answer", "calls of all kinds at once"])
def test_of_two_workers_at_one_run_neither_spoils_what_the_other_does(name: str, tmp_path: Path) -> None:
    first_at, held = 1, True
    while held:
        second_at, held_too = 1, True
        while held_too:
            first, second = race(BY_NAME[name], tmp_path / f"{first_at}-{second_at}", [first_at], second_at)
            held, held_too = len(first.places) >= first_at, len(second.places) >= second_at
            second_at += 1
        first_at += 1
    assert first_at > 10


def test_a_step_that_has_gone_on_since_it_was_read_is_read_again_before_it_is_taken(tmp_path: Path) -> None:
    """The first waits for its model while the second reads the run and is about to take it (its second write, after the sweep's mark)."""
    waits_for_model, taking = 12, 2
    goes_on, held = waits_for_model + 1, True
    while held:
        first, _ = race(BY_NAME["calls of all kinds at once"], tmp_path / str(goes_on), [waits_for_model, goes_on], taking)
        assert first.places[waits_for_model - 1] == "before model"
        held = len(first.places) >= goes_on
        goes_on += 1
    assert goes_on > waits_for_model + 10


def test_a_run_that_is_advanced_again_after_it_ended_stays_as_it_is(tmp_path: Path) -> None:
    story = BY_NAME["calls of all kinds at once"]
    data = data_in(tmp_path, story.script)
    world = World(data)
    agent_id = world.make_agent(blocks={"human": "Ann"}, tools=story.tools)
    run_id = world.send(agent_id, "hello")
    log, head, asked = world.log(agent_id), world.head(agent_id), len(data.models.requests)
    assert [world.advance(run_id), world.reborn().advance(run_id)] == ["finished", "finished"]
    assert (world.log(agent_id), world.head(agent_id), len(data.models.requests)) == (log, head, asked)
    assert world.stores.runs.events(TENANT, run_id, 0, world.clock.now())[-1][0] == world.run(run_id).last_seq
