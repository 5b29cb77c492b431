"""The folder of one attempt whose process is killed, and the parts of which servers are built there.

Must not know the profiles.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import Table
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.stop import RunStatus
from tests.proof.agents import colleagues, made_for, sleeper_of, triggers_of
from tests.proof.clients import Client, Desk, Notes, Say
from tests.proof.faults import is_outside
from tests.proof.stories import STILL_THERE, Story
from tests.proof.verdict import answered, runs, verdict
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, nothing
from tests.support.tables import CountingTable
from tests.support.world import Data, World


class KillPoints:
    """Counts the points after an effect of the process, once it is armed, and kills the process at number `at` (0: never)."""

    def __init__(self, at: int) -> None:
        self._at, self._seen, self.armed = at, 0, False

    def point(self, place: str) -> None:
        if self.armed and place.startswith("after ") and is_outside(place):
            self._seen += 1
            if self._seen == self._at:
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class WrittenRunner(ScriptedRunner):
    """A tool runner that records its effects in a file, which outlives the process."""

    file: Path = Path()

    def run(self, job: ToolJob) -> ToolOutcome:
        self.at("before tool")
        with self.file.open("a") as file:
            file.write(json.dumps([job.name, job.args]) + "\n")
        outcome = self.does(job)
        self.at("after tool")
        return outcome


class Place:
    """The folder of one attempt, and the parts of which the engines of both profiles are built there."""

    def __init__(self, story: Story, folder: Path, at: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.story, self.folder, self.mortal = story, folder, KillPoints(at)
        self.models = ScriptedModels(story.script, at=self.mortal.point, **story.model)
        self.runner = WrittenRunner(at=self.mortal.point, file=folder / "effects")
        self.notes = Notes.of(folder / "notes")

    def wrap(self, table: Table) -> Table:
        return CountingTable(table, lambda _, kind: self.mortal.point(kind))

    def makes_agent(self, table: Table) -> None:
        agent_id = made_for(self.story, lambda: self.over(table))
        (self.folder / "agent").write_text(agent_id)

    @property
    def agent_id(self) -> str:
        return (self.folder / "agent").read_text()

    def over(self, table: Table) -> World:
        """A `World` over a table, for making the agent and for reading the result."""
        written = self.runner.file.read_text().splitlines() if self.runner.file.exists() else []
        effects = [(name, args) for name, args in map(json.loads, written)]
        models = ScriptedModels(self.story.script, at=nothing, **self.story.model)
        blobs: Any = DiskBlobs(self.folder / "data" / "blobs")
        return World(Data(table, SystemClock(), models, ScriptedRunner(effects=effects), blobs))

    def running(self, world: World) -> set[str]:
        """The runs that can still advance, also those that a trigger will start. A run in the queue behind a pending approval
        cannot.
        """
        sleeper = sleeper_of(world, self.agent_id)
        those = [self.agent_id, *([sleeper.id] if sleeper else []), *colleagues(world, self.agent_id)]
        due = [world.stores.sleeptime_triggers.at(place) for place in triggers_of(world, self.agent_id)]
        to_come = {run_id for trigger in due if trigger is not None for run_id in trigger.runs.values()}
        states = [state for each in those for state in runs(world, each)]
        return {state.run.id for state in states if state.run.status is RunStatus.RUNNING} | to_come

    def client(self, desk: Desk) -> Client:
        client = Client(self.agent_id, self.notes, desk)
        self.runner.does = lambda job: self._does(client, job)
        self.models.script = lambda request, number: self._says(client, request, number)
        return client

    def _says(self, client: Client, request: ModelRequest, number: int) -> ModelReply:
        if self.story.thinking is not None:
            self.story.thinking(client)
        return self.story.script(request, number)

    def _does(self, client: Client, job: ToolJob) -> ToolOutcome:
        if self.story.meanwhile is not None:
            self.story.meanwhile(client)
        return ToolOutcome("success", f"did {job.name}")

    def lives(self, desk: Desk) -> None:
        self.mortal.armed = True
        self.client(desk).does(self.story.acts)

    def judged(self, desk: Desk, looking: Callable[[], World]) -> None:
        """Continue the story to its end, send one more message, and write the findings to a file. `looking`: a `World` over the
        table as it is.
        """
        client = self.client(desk)
        desk.settle()
        client.does(self.story.acts)
        desk.settle()
        found = verdict(looking(), self.agent_id, self.notes.said(self.story.acts), {})
        client.does([Say(STILL_THERE)])
        desk.settle()
        world = looking()
        found += answered(world, client.run_of(STILL_THERE))
        found += verdict(world, self.agent_id, self.notes.said([*self.story.acts, Say(STILL_THERE)]), {})
        judged = {"runs": len(runs(world, self.agent_id)), "found": [list(one) for one in found]}
        (self.folder / "judged").write_text(json.dumps(judged))
