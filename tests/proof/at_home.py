"""The stories over SQLite in this process. The dying house is unwound by an exception that nothing catches, and another opens its data.

A fault strikes at one point of a story: the house dies there, the answer of a write is lost, a start does not reach the workflow, or the
house is held up for so long that another takes everything over and ends it, before the first goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.table import OutcomeUnknown
from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.ports.workflow import RunRef
from hibernaut.schemas.stop import RunStatus
from tests.proof.clients import Client, Notes, Say
from tests.proof.faults import Died, Points, WatchedBlobs
from tests.proof.stories import STILL_THERE, TOOLS, Story
from tests.proof.verdict import Finding, Shown, answered, runs, shown, verdict
from tests.support.scripted_model import nothing
from tests.support.tables import CountingTable
from tests.support.world import Data, Inline, World, data_in

LATER = 1000.0
"""Seconds after which every lease and every claim of a dead worker is over, and every open run due."""


@dataclass(frozen=True)
class Tried:
    """One story with one fault: where it struck ("": past the last point), how many runs there were, and what is wrong."""

    place: str
    runs: int
    found: list[Finding]


class WatchedInline(Inline):
    """`at` is told before and after each start and each end of a wait; what is dropped does not reach the workflow."""

    def __init__(self, at: Callable[[str], None]) -> None:
        super().__init__()
        self.at, self.drops = at, False

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        self.at("before start")
        if not self.drops:
            super().start(run, name=name, inline=inline)
        self.drops = False
        self.at("after start")

    def end_wait(self, run: RunRef, token: str) -> None:
        self.at("before end_wait")
        super().end_wait(run, token)
        self.at("after end_wait")


class WorldDesk:
    """The port `Desk` on a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.stores, self.sending, self.termination = world.stores, world.chain.sending, world.chain.termination

    def start(self, run_id: str) -> None:
        self.sending.start(run_id)

    def drive(self) -> None:
        self.world.workflow.drive()

    def settle(self) -> None:
        if self.world.host.alone:
            self.world.sweep()
        for _ in range(4):
            self.world.clock.sleep(LATER)
            self.world.engines.sweep.run()
            self.world.workflow.drive()


class House:
    """One story's data, the process that lives it first, and those that come after."""

    def __init__(self, story: Story, folder: Path) -> None:
        self.story = story
        self.data: Data = data_in(folder, story.script, **story.model)
        maker = World(self.data, holder="host:0")
        self.agent_id = maker.make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=TOOLS, rules=story.rules)
        self.notes = Notes()
        self.before: Shown = {}

    def opened(self, points: Points | None = None, *, holder: str = "host:1", alone: bool = True) -> World:
        """A process over the data: `points` are told of everything that it does outside."""
        point = points.point if points else nothing
        kept = self.data.blobs
        watched = replace(self.data, blobs=WatchedBlobs(kept, point))
        self.workflow = WatchedInline(point)
        world = World(
            watched,
            holder=holder,
            alone=alone,
            wrap=lambda table: CountingTable(table, lambda _, kind: point(kind)),
            workflow=self.workflow,
        )
        self.data.models.at = self.data.runner.at = point
        client = self.client(world)
        self.data.runner.does = lambda job: self._does(client, job)
        self.data.models.script = lambda request, number: self._says(client, request, number)
        return world

    def _does(self, client: Client, job: ToolJob) -> ToolOutcome:
        if self.story.meanwhile is not None:
            self.story.meanwhile(client)
        return ToolOutcome("success", f"did {job.name}")

    def _says(self, client: Client, request: ModelRequest, number: int) -> ModelReply:
        if self.story.thinking is not None:
            self.story.thinking(client)
        return self.story.script(request, number)

    def client(self, world: World) -> Client:
        return Client(self.agent_id, self.notes, WorldDesk(world))

    def lives(self, points: Points, *, alone: bool = True) -> World:
        """The first process, up to its death or its end."""
        world = self.opened(points, alone=alone)
        with suppress(Died):
            self.client(world).does(self.story.acts)
        return world

    def dies(self, points: Points) -> None:
        self.looked()
        points.dead = True
        raise Died(points.struck)

    def looked(self) -> None:
        """What followers have seen by now."""
        self.before = shown(World(self.data), self.agent_id)

    def judged(self, points: Points, world: World) -> Tried:
        """The story goes on in this process, to its end; then one more message."""
        client = self.client(world)
        client.does(self.story.acts)
        client.desk.settle()
        found = verdict(world, self.agent_id, self.notes.said(self.story.acts), self.before)
        found += [Finding("doubled", "a request has two runs")] * (
            len(runs(world, self.agent_id)) > len(self.notes.answers) + self.story.later
        )
        client.does([Say(STILL_THERE)])
        client.desk.settle()
        found += answered(world, client.run_of(STILL_THERE))
        found += verdict(world, self.agent_id, self.notes.said([*self.story.acts, Say(STILL_THERE)]), self.before)
        closed = [state.run.id for state in runs(world, self.agent_id) if state.run.status is RunStatus.FAILED]
        found += [Finding("bricked", f"{closed} could not go on")] * bool(closed)
        return Tried(points.struck, len(runs(world, self.agent_id)), found)


def restarted(story: Story, folder: Path, at: int) -> Tried:
    """The only process dies at the point; the next one takes up everything at its start."""
    house = House(story, folder)
    points = Points(at, lambda: house.dies(points))
    house.lives(points)
    after = house.opened(holder="host:2")
    after.sweep()
    return house.judged(points, after)


def twice(story: Story, folder: Path, at: int) -> Tried:
    """The process dies, and the one after it dies while it takes up what was left; the third ends it."""
    house = House(story, folder)
    points = Points(at, lambda: house.dies(points))
    house.lives(points, alone=False)
    again = Points(1 + at % 7, lambda: house.dies(again))
    with suppress(Died):
        house.opened(again, holder="host:2").sweep()
    third = house.opened(holder="host:3")
    third.sweep()
    return house.judged(points, third)


def taken_over(story: Story, folder: Path, at: int) -> Tried:
    """One process of many dies; another goes on with what has been left alone for longer than a worker may live."""
    house = House(story, folder)
    points = Points(at, lambda: house.dies(points))
    house.lives(points, alone=False)
    return house.judged(points, house.opened(holder="host:2", alone=False))


def overtaken(story: Story, folder: Path, at: int) -> Tried:
    """The process is held up at the point; another takes over everything and ends it; then the first goes on."""
    house = House(story, folder)

    def held_up() -> None:
        house.looked()
        WorldDesk(house.opened(holder="host:2", alone=False)).settle()

    points = Points(at, held_up)
    world = house.lives(points, alone=False)
    return house.judged(points, world)


def unanswered(story: Story, folder: Path, at: int) -> Tried:
    """The process lives, but a write gets no answer: it was done (after), or never arrived (before)."""
    house = House(story, folder)

    def lost() -> None:
        house.looked()
        raise OutcomeUnknown("no answer")

    points = Points(at, lost, counts=lambda place: place.endswith(" write"))
    return house.judged(points, house.lives(points))


def unstarted(story: Story, folder: Path, at: int) -> Tried:
    """The process lives, but the start of a run does not reach the workflow."""
    house = House(story, folder)

    def drops() -> None:
        house.looked()
        house.workflow.drops = True

    points = Points(at, drops, counts=lambda place: place == "before start")
    return house.judged(points, house.lives(points, alone=False))
