"""A program (`processes.py PROFILE FOLDER STORY FIRST EVERY`) that plays a story with a kill at each `EVERY`-th point, from the `FIRST`.

For each point one process plays the story until a signal kills it, and a second process recovers and finishes. The program prints the
counts and the findings as JSON. It opens nothing itself and forks each process, so that two processes share only the stored data.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from functions.advance_turn import handler as advance_turn
from functions.summarize import handler as summarize
from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.table.definition import create_table
from hibernaut.adapters.table.dynamodb import DynamoDbTable, one_attempt
from hibernaut.domain.models import tokens
from hibernaut.ports.clock import Clock
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import Table
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.stop import RunStatus
from hibernaut.wiring import aws, embedded
from hibernaut.wiring.settings import AwsSettings, EmbeddedSettings
from tests.proof.agents import colleagues, made_for, sleeper_of, triggers_of
from tests.proof.at_rest import TableAtRest
from tests.proof.clients import TENANT, Client, Desk, Notes, Say
from tests.proof.faults import is_outside
from tests.proof.partitions import few_partitions
from tests.proof.stories import STILL_THERE, STORIES, Story
from tests.proof.verdict import answered, runs, verdict
from tests.support.clocks import LaterClock
from tests.support.hashing_embedder import OneEmbedder
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, nothing
from tests.support.tables import CountingTable
from tests.support.world import Data, World

PATIENCE = 60.0
LEASE_MS = 60_000
"""The remaining time that the Lambda context reports."""
LATER = timedelta(minutes=5)
"""How long after the death the next process begins: all its leases and claims have expired, and repeated requests are still
recognised."""


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
        agent_id = made_for(self.story, lambda: self.looking(table))
        (self.folder / "agent").write_text(agent_id)

    @property
    def agent_id(self) -> str:
        return (self.folder / "agent").read_text()

    def looking(self, table: Table) -> World:
        """A `World` over the table as it is now, for reading the result."""
        written = self.runner.file.read_text().splitlines() if self.runner.file.exists() else []
        effects = [(name, args) for name, args in map(json.loads, written)]
        models = ScriptedModels(self.story.script, at=nothing, **self.story.model)
        blobs: Any = DiskBlobs(self.folder / "data" / "blobs")
        return World(Data(TableAtRest(table), SystemClock(), models, ScriptedRunner(effects=effects), blobs))

    def running(self, table: Table) -> set[str]:
        """The runs that can still advance, also those that a trigger will start. A run in the queue behind a pending approval cannot."""
        world = self.looking(table)
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

    def judged(self, desk: Desk, table: Table) -> None:
        """Continue the story to its end, send one more message, and write the findings to a file."""
        client = self.client(desk)
        desk.settle()
        client.does(self.story.acts)
        desk.settle()
        found = verdict(self.looking(table), self.agent_id, self.notes.said(self.story.acts), {})
        client.does([Say(STILL_THERE)])
        desk.settle()
        world = self.looking(table)
        found += answered(world, client.run_of(STILL_THERE))
        found += verdict(world, self.agent_id, self.notes.said([*self.story.acts, Say(STILL_THERE)]), {})
        judged = {"runs": len(runs(world, self.agent_id)), "found": [list(one) for one in found]}
        (self.folder / "judged").write_text(json.dumps(judged))


# the embedded profile


class HomeDesk:
    """The port `Desk` over the embedded profile. Runs advance on this thread if possible."""

    def __init__(self, server: embedded.Embedded, place: Place) -> None:
        self.server, self.place, self._started = server, place, deque[str]()
        engine = server.engines.of(TENANT)
        self.stores, self.termination, self.sending = server.stores.of(TENANT), engine.termination, engine.sending
        self.schedules, self.clock, self.fire = engine.schedules, server.host.clock, engine.firing.fire
        self.documents = engine.agent_documents

    def start(self, run_id: str) -> None:
        self._started.append(run_id)

    def drive(self) -> None:
        while self._started:
            self.sending.start(self._started.popleft(), inline=True)
        self.settle()

    def settle(self) -> None:
        """Wait until no run can advance. The end of a run wakes the wait. It waits only while it watches every run that can advance: the next
        run of a queue may start, and end, between two reads."""
        woken, watched = threading.Event(), set[str]()
        while True:
            woken.clear()
            running = self.place.running(self.server.table)
            if not running:
                return
            for run_id in running - watched:
                self.server.host.signal.watch(run_id, woken.set)
            if running <= watched:
                assert woken.wait(PATIENCE), "a run does not end"
            watched |= running


def opened(place: Place) -> embedded.Embedded:
    overrides = embedded.EmbeddedOverrides(table=place.wrap, models=place.models, runner=place.runner)
    return embedded.Embedded(EmbeddedSettings(data=place.folder / "data"), overrides)


def live_embedded(place: Place) -> None:
    server = opened(place)
    place.makes_agent(server.table)
    with server:
        place.lives(HomeDesk(server, place))


def settle_embedded(place: Place) -> None:
    """The next process: resumes unfinished work at its start, then serves one more message."""
    with opened(place) as server:
        place.judged(HomeDesk(server, place), server.table)


# the profile aws, over DynamoDB Local


class Context:
    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        return LEASE_MS


class LambdaDesk:
    """The port `Desk` over the handlers. It acts as the state machine, for every open run."""

    def __init__(self, server: aws.Composition, place: Place) -> None:
        self.server, self.place = server, place
        engine = server.engines.of(TENANT)
        self.stores, self.termination, self.sending = server.stores.of(TENANT), engine.termination, engine.sending
        self.schedules, self.clock, self.fire = engine.schedules, server.host.clock, engine.firing.fire
        self.documents = engine.agent_documents

    def start(self, run_id: str) -> None:
        """Start the execution of the run."""

    def drive(self) -> None:
        self.settle()

    def settle(self) -> None:
        while running := self.place.running(dynamodb(self.place)):
            for place in triggers_of(self.place.looking(dynamodb(self.place)), self.place.agent_id):
                self.server.engines.of(TENANT).sleeptime.take_up(place)  # as the sweep does
            for run_id in sorted(running):
                heartbeats(self.server, run_id)
        for place in self.server.stores.due.all():  # A worker that was killed may have told no one of the end of its run.
            self.server.engines.of(TENANT).sweep.clear_up(place)


def heartbeats(server: aws.Composition, run_id: str) -> None:
    """Advance the run until nothing is left to do. No other worker lives, so no step may be taken."""
    event = {"tenant": TENANT, "run_id": run_id}
    while (follows := beat(server, event)) == "advance":
        pass
    assert follows != "busy", f"run {run_id} is taken by a worker that has died"


def beat(server: aws.Composition, event: JsonObject) -> str:
    follows = advance_turn.handler(event, Context(), server.engines)["next"]
    if follows == "compact":
        return summarize.handler(event, Context(), server.engines)["next"]
    return follows


def dynamodb(place: Place) -> Table:
    return DynamoDbTable(table_name(place), client=CLIENT[0])


def table_name(place: Place) -> str:
    """The name of the table. All attempts of a story share it, each with its own agent."""
    return place.folder.parent.name


CLIENT: list[object] = []
"""The client, created once before the forks. It connects at its first request."""


def aws_composition(place: Place, clock: Clock) -> aws.Composition:
    settings = AwsSettings(env="dev", table=table_name(place), bucket="none", state_machine="none", tool_timeout=1.0)
    overrides = aws.AwsOverrides(
        table=lambda _: place.wrap(dynamodb(place)),
        models=place.models,
        runner=place.runner,
        embedders=OneEmbedder(),
        clock=clock,
    )
    return aws.compose(settings, overrides, in_execution=True)


def live_aws(place: Place) -> None:
    place.makes_agent(dynamodb(place))
    place.lives(LambdaDesk(aws_composition(place, SystemClock()), place))


def settle_aws(place: Place) -> None:
    """A later process: takes up what the dead one has left, then serves one more message."""
    place.judged(LambdaDesk(aws_composition(place, LaterClock(LATER)), place), dynamodb(place))


PROFILES: dict[str, tuple[Callable[[Place], None], Callable[[Place], None]]] = {
    "embedded": (live_embedded, settle_embedded),
    "aws": (live_aws, settle_aws),
}


def forked(work: Callable[[], None], errors: Path | None = None) -> int:
    """Do the work in a forked process. Returns its exit status, or the negative number of its signal. `errors`: the file for its error."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        work()
    except BaseException:  # noqa: BLE001  the fork ends here, and its status tells
        if errors is not None:
            errors.write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


def build_validators(of: type[BaseModel] = BaseModel) -> None:
    """Build the validators of all models, which would otherwise be built at their first use: in each fork again."""
    for model in of.__subclasses__():
        model.model_rebuild()
        build_validators(model)


def main(profile: str, folder: Path, name: str, first: int, every: int) -> None:
    live, settle = PROFILES[profile]
    story = next(story for story in STORIES if story.name == name)
    tokens.get_ready()
    build_validators()
    if profile == "aws":
        import boto3

        CLIENT.append(boto3.client("dynamodb", config=one_attempt()))
        assert forked(lambda: create_table(CLIENT[0], folder.name)) == 0  # type: ignore[arg-type]
    total: dict[str, Any] = {"points": 0, "runs": 0, "found": []}
    at, ended = first, -signal.SIGKILL
    while ended == -signal.SIGKILL:
        here = folder / f"{at:03}"
        here.mkdir(parents=True)
        ended = forked(lambda here=here, at=at: live(Place(story, here, at)), here / "error")  # type: ignore[misc]
        settled = forked(lambda here=here: settle(Place(story, here)), here / "next error")  # type: ignore[misc]
        tried = judged(here, ended, settled)
        total["points"] += ended == -signal.SIGKILL
        total["runs"] += tried["runs"]
        total["found"] += [[f"point {at}", *one] for one in tried["found"]]
        at += every
    print(json.dumps(total))


def judged(here: Path, lived: int, settled: int) -> dict[str, Any]:
    """The findings of the second process. A process that failed is a finding too."""
    file = here / "judged"
    tried: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"runs": 0, "found": []}
    if lived not in (0, -signal.SIGKILL):
        tried["found"].append(["bricked", f"the process failed by itself: {(here / 'error').read_text()}"])
    if settled != 0:
        tried["found"].append(["bricked", f"the next process failed: {(here / 'next error').read_text()}"])
    return tried


if __name__ == "__main__":
    with few_partitions():
        main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
