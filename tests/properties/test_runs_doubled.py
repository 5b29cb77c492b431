"""Two workers at one run: the first is held up until its lease is over, the second takes over and is held up too, the first goes
on.

Every point of the first is tried with every write of the second (invariants 3, 4 and 5). Only one thread runs at
a time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.proof.at_home import WorldDesk
from tests.proof.clients import Client, Notes
from tests.proof.stories import STORIES, TOOLS, Story
from tests.proof.verdict import verdict
from tests.support.held import Worker
from tests.support.scripted_model import nothing
from tests.support.world import World, data_in

BY_NAME = {story.name: story for story in STORIES}


def everything(world: World) -> None:
    world.engines.sweep.run()
    world.workflow.drive()


BEFORE = ("before get", "before get_many", "before query", "before write", "before model", "before tool")


def race(story: Story, folder: Path, first_at: Sequence[int], second_at: int) -> tuple[Worker, Worker]:
    """The first house up to its point, the second up to its own, the first up to its next point if it has one, the second, the
    first.
    """
    data = data_in(folder, story.script)
    first = Worker(data, "host:1", lambda place: place in BEFORE, *first_at)
    second = Worker(data, "host:2", lambda place: place in ("before write", "before model"), second_at)
    agent_id = World(data).make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=TOOLS)
    workers = {worker.world.host.holder: worker for worker in (first, second)}
    data.models.at = data.runner.at = lambda place: workers[threading.current_thread().name].point(place)
    first.start(lambda: Client(agent_id, Notes(), WorldDesk(first.world)).does(story.acts))
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
    assert verdict(last, agent_id, [act.text for act in story.acts], {}) == []
    return first, second


@pytest.mark.parametrize("name", ["plain", "parallel tools"])
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
    """The first waits for its model while the second reads the run and is about to take it (its second write, after the sweep's
    mark).
    """
    alone, _ = race(BY_NAME["parallel tools"], tmp_path / "alone", [1], 1_000_000)
    waits_for_model, taking = alone.places.index("before model") + 1, 2
    goes_on, held = waits_for_model + 1, True
    while held:
        first, _ = race(BY_NAME["parallel tools"], tmp_path / str(goes_on), [waits_for_model, goes_on], taking)
        assert first.places[waits_for_model - 1] == "before model"
        held = len(first.places) >= goes_on
        goes_on += 1
    assert goes_on > waits_for_model + 10


def test_a_run_that_is_advanced_again_after_it_ended_stays_as_it_is(tmp_path: Path) -> None:
    story = BY_NAME["parallel tools"]
    data = data_in(tmp_path, story.script)
    world = World(data)
    agent_id = world.make_agent(blocks={"human": "Ann"}, tools=TOOLS)
    run_id = world.send(agent_id, "hello")
    log, head, asked = world.log(agent_id), world.head(agent_id), len(data.models.requests)
    assert [world.advance(run_id), world.reborn().advance(run_id)] == ["finished", "finished"]
    assert (world.log(agent_id), world.head(agent_id), len(data.models.requests)) == (log, head, asked)
    assert world.stores.runs.events(run_id, 0, world.clock.now())[-1][0] == world.run(run_id).last_seq
