"""Every point at which a process can die, in one process: before and after each write, and around each call to the world outside.

The dying process is unwound by an exception that nothing catches, and its table answers nothing from then on. Then another house opens
the same data. (Processes that are truly killed have tests of their own beside this one.)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.scenarios import STORIES, Story, check_story
from tests.support.scripted_model import nothing
from tests.support.tables import CountingTable
from tests.support.world import Data, World, data_in


class Died(BaseException):
    """The process is no more."""


class Mortal:
    """Counts the points at which a process may die, and dies at the `at`-th."""

    def __init__(self, at: int) -> None:
        self._at, self.seen, self.dead = at, 0, False

    def point(self, place: str) -> None:
        self._breathe()
        self.seen += 1
        if self.seen == self._at:
            self.dead = True
            raise Died(place)

    def table(self, _number: int, kind: str) -> None:
        self.point(kind) if kind.endswith("write") else self._breathe()

    def _breathe(self) -> None:
        if self.dead:
            raise Died("it is dead")


def live(story: Story, folder: Path, at: int) -> tuple[Data, str, bool]:
    """The first house, up to its death or its end: what is left of it."""
    data = data_in(folder, story.script)
    agent_id = World(data, holder="host:0").make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=story.tools)
    mortal = Mortal(at)
    world = World(data, wrap=lambda table: CountingTable(table, mortal.table))
    data.models.at = data.runner.at = mortal.point
    data.runner.does = story.does(world, agent_id)
    try:
        story.happens(world, agent_id)
    except Died:
        return data, agent_id, True
    return data, agent_id, False


def at_home(world: World) -> None:
    """The next process of one: it knows that the last one is dead, and takes up everything at its start."""
    world.sweep()


def among_many(world: World) -> None:
    """Any process of many: it takes over what nobody has touched for longer than a worker may live."""
    for _ in range(4):
        world.data.clock.sleep(1000)
        world.chain.sweep.run()
        world.workflow.drive()


@pytest.mark.parametrize("goes_on", [at_home, among_many])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_whatever_dies_and_wherever_the_run_ends_well(story: Story, goes_on: Callable[[World], None], tmp_path: Path) -> None:
    for at in itertools.count(1):
        data, agent_id, died = live(story, tmp_path / str(at), at)
        world = World(data, holder="host:2", alone=goes_on is at_home)
        data.models.at = data.runner.at = nothing
        data.runner.does = story.does(world, agent_id)
        goes_on(world)
        check_story(world, story, agent_id)
        run_id = world.send(agent_id, "still there?")
        check_story(world, story, agent_id)
        assert world.run(run_id).ended
        if not died:
            assert at > 6
            return
