"""The stories over SQLite in this process. A dying server is unwound by an exception that nothing catches; another one opens its
data.

A fault is injected at one point of a story: the server dies, the answer of a write is lost, the start of a run does not reach the
workflow, or the server pauses so long that another one takes over and finishes everything before the first continues.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import OutcomeUnknown
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from tests.proof.agents import made_for
from tests.proof.clients import Client, Notes, Say
from tests.proof.faults import Died, PausedPoints, Points, WatchedBlobs
from tests.proof.stories import STILL_THERE, Story
from tests.proof.verdict import Finding, Shown, answered, runs, shown, verdict
from tests.support.inline_schedules import InlineSchedules
from tests.support.scripted_model import nothing
from tests.support.tables import CountingTable
from tests.support.world import Data, Inline, World, data_in

REPLY = 43_200.0
"""Seconds for which an agent waits for a reply: longer than a story, so that a wake-up that is lost is found."""
LATER = 1000.0
"""Seconds after which all leases and claims of a dead worker have expired, and all open runs are due."""


@dataclass(frozen=True)
class Trial:
    """The outcome of one story with one fault: the point of the fault ("": after the last point), the number of runs, and the
    findings.
    """

    place: str
    runs: int
    found: list[Finding]


class WatchedInline(Inline):
    """A workflow that calls `at` before and after each start and each end of a wait. With `drops` the next start is lost."""

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
    """The port `Desk` over a `World`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.stores, self.sending, self.termination = world.stores, world.chain.sending, world.chain.termination
        self.schedules, self.documents, self.clock = world.chain.schedules, world.chain.agent_documents, world.clock

    def fire(self, schedule_id: str) -> None:
        self.world.chain.firing.fire(schedule_id)

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


class PlayedStory:
    """The data of one story, its first process, and the processes after it. `close` when it is judged."""

    def __init__(self, story: Story, folder: Path) -> None:
        self.story = story
        self.data: Data = data_in(folder, story.script, **story.model)
        maker = World(self.data, holder="host:0")
        self.agent_id = made_for(story, lambda: maker)
        self.notes = Notes()
        self.before: Shown = {}

    def close(self) -> None:
        self.data.close()

    def opened(self, points: Points | None = None, *, holder: str = "host:1", alone: bool = True) -> World:
        """A process over the data. `points` observes its table writes and outside calls."""
        point = points.point if points else nothing
        kept = self.data.blobs
        watched = replace(self.data, blobs=WatchedBlobs(kept, point))
        self.workflow, workers = WatchedInline(point), InlineSchedules()
        world = World(
            watched,
            limits=ToolLimits(reply=REPLY),
            holder=holder,
            alone=alone,
            wrap=lambda table: CountingTable(table, lambda _, kind: point(kind)),
            workflow=self.workflow,
            host={"schedule_workers": workers},
        )
        workers.bind(world.engines.fire)
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
        """The first process, until it dies or the acts are done."""
        world = self.opened(points, alone=alone)
        with suppress(Died):
            self.client(world).does(self.story.acts)
        return world

    def dies(self, points: Points) -> None:
        self.looked()
        points.dead = True
        raise Died(points.struck)

    def looked(self) -> None:
        """Record the events that followers have seen so far."""
        self.before = shown(World(self.data), self.agent_id)

    def judged(self, points: Points, world: World) -> Trial:
        """Continue the story in this process to its end, send one more message, and judge the result."""
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
        return Trial(points.struck, len(runs(world, self.agent_id)), found)


def restarted(played: PlayedStory, at: int) -> Trial:
    """The only process dies at the point. The next one resumes everything at its start."""
    points = Points(at, lambda: played.dies(points))
    played.lives(points)
    after = played.opened(holder="host:2")
    after.sweep()
    return played.judged(points, after)


def twice(played: PlayedStory, at: int) -> Trial:
    """The process dies, and the next one dies while it recovers. The third one finishes."""
    points = Points(at, lambda: played.dies(points))
    played.lives(points, alone=False)
    again = Points(1 + at % 7, lambda: played.dies(again))
    with suppress(Died):
        played.opened(again, holder="host:2").sweep()
    third = played.opened(holder="host:3")
    third.sweep()
    return played.judged(points, third)


def taken_over(played: PlayedStory, at: int) -> Trial:
    """One of several processes dies. Another one continues after the lease has expired."""
    points = Points(at, lambda: played.dies(points))
    played.lives(points, alone=False)
    return played.judged(points, played.opened(holder="host:2", alone=False))


def overtaken(played: PlayedStory, at: int) -> Trial:
    """The process pauses at the point while another one takes over and finishes everything; then the first one continues."""

    def held_up() -> None:
        played.looked()
        WorldDesk(played.opened(holder="host:2", alone=False)).settle()

    points = PausedPoints(at, held_up)
    world = played.lives(points, alone=False)
    return played.judged(points, world)


def unanswered(played: PlayedStory, at: int) -> Trial:
    """The process lives, but a write gets no answer: it was done (`after`), or it never arrived (`before`)."""

    def lost() -> None:
        played.looked()
        raise OutcomeUnknown("no answer")

    points = Points(at, lost, counts=lambda place: place.endswith(" write"))
    return played.judged(points, played.lives(points))


def unstarted(played: PlayedStory, at: int) -> Trial:
    """The process lives, but the start of a run does not reach the workflow."""

    def drops() -> None:
        played.looked()
        played.workflow.drops = True

    points = Points(at, drops, counts=lambda place: place == "before start")
    return played.judged(points, played.lives(points, alone=False))
