"""Run as a program (`processes.py embedded|aws FOLDER`): lives a story in process after process, each killed by a signal at its own point,
and lets the next process settle what is left. Prints how many were killed; fails with the story's place where something did not end well.

The program itself opens nothing: every life and every settling is a fork of it, so that nothing but the data passes from one to the next.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from functions.advance_turn import handler as advance_turn
from functions.close_run import handler as close_run
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.table.definition import create_table
from hibernaut.adapters.table.dynamodb import DynamoDbTable, one_attempt
from hibernaut.ports.table import Table
from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.wiring import aws, embedded
from hibernaut.wiring.settings import AwsSettings, EmbeddedSettings
from tests.crash.scenarios import INSERT, RING, STORIES, by_step, check_story
from tests.support.hashing_embedder import OneEmbedder
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, calls, nothing, says
from tests.support.tables import CountingTable
from tests.support.world import TENANT, Data, World

STORY = replace(STORIES[0], script=by_step(calls(INSERT, RING), says("done")))
PATIENCE = 60.0
LEASE_MS = 50
"""What is left of a Lambda's time when it is asked: so short that the next process need not wait for the dead one's lease."""


POINTS = ("after write", "after tool")
"""Where a process is killed: behind everything that it leaves. What it does between two of these leaves nothing."""


class Mortal:
    """Counts the points at which a process may die, once it is armed, and is killed at the `at`-th (0: never)."""

    def __init__(self, at: int) -> None:
        self._at, self._seen, self.armed = at, 0, False

    def point(self, place: str) -> None:
        if self.armed and place in POINTS:
            self._seen += 1
            if self._seen == self._at:
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class WrittenRunner(ScriptedRunner):
    """Its effects stand in a file, since the processes do not live long enough to tell."""

    file: Path = Path()

    def run(self, job: ToolJob) -> ToolOutcome:
        self.at("before tool")
        with self.file.open("a") as file:
            file.write(f"{job.name}\n")
        self.at("after tool")
        return ToolOutcome("success", f"did {job.name}")


class Place:
    """Where one life happens: a folder, and what the engines of both profiles are built with there."""

    def __init__(self, folder: Path, mortal: Mortal) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.mortal = folder, mortal
        self.models = ScriptedModels(STORY.script, at=mortal.point)
        self.runner = WrittenRunner(at=mortal.point, file=folder / "effects")

    def wrap(self, table: Table) -> Table:
        return CountingTable(table, lambda _, kind: self.mortal.point(kind))

    def world(self, table: Table) -> World:
        """To make an agent by, and to look at what is left."""
        effects = self.runner.file.read_text().split() if self.runner.file.exists() else []
        looking = ScriptedRunner(effects=[(name, {}) for name in effects])
        return World(Data(table, SystemClock(), ScriptedModels(STORY.script, at=nothing), looking))

    def settled(self, table: Table, agent_id: str) -> None:
        check_story(self.world(table), STORY, agent_id)

    @property
    def agent(self) -> Path:
        return self.folder / "agent"


# the embedded profile


def opened(place: Place) -> embedded.Embedded:
    overrides = embedded.Overrides(table=place.wrap, models=place.models, runner=place.runner)
    return embedded.Embedded(EmbeddedSettings(data=place.folder / "data"), overrides)


def sends(house: embedded.Embedded, agent_id: str) -> None:
    world_of = house.chain.sending
    sender = World(Data(house.table, SystemClock(), ScriptedModels(STORY.script)))
    sender.sending = world_of
    accepted = sender.accept(agent_id, "hello")
    world_of.start(TENANT, accepted.run_id, inline=True)


def live_embedded(place: Place) -> None:
    house = opened(place)
    agent_id = place.world(house.table).make_agent(blocks={"human": "Ann"}, tools=STORY.tools)
    place.agent.write_text(agent_id)
    with house:
        place.mortal.armed = True
        sends(house, agent_id)


def settle_embedded(place: Place) -> None:
    """The next process: it takes up what it finds at its start, then serves another message."""
    agent_id = place.agent.read_text()
    house, woken = opened(place), threading.Event()
    world = place.world(house.table)
    runs = [str(row["sk"]).removeprefix("RUN#") for row in house.stores.runs.rows(TENANT, agent_id)]
    for run_id in runs:
        house.host.signal.watch(run_id, woken.set)
    with house:
        while not all(world.run(run_id).ended for run_id in runs):
            assert woken.wait(PATIENCE), "a run does not end"
            woken.clear()
        place.settled(house.table, agent_id)
        sends(house, agent_id)
        assert all(world.run(run_id).ended for run_id in runs)


# the profile aws, over DynamoDB Local


class Context:
    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        return LEASE_MS


def dynamodb(place: Place) -> Table:
    return DynamoDbTable(table_name(place), client=CLIENT[0])


def table_name(place: Place) -> str:
    return f"table-{place.folder.name}"


CLIENT: list[object] = []
"""Made once, before the forks; it connects at its first request only."""


def aws_house(place: Place) -> aws.House:
    settings = AwsSettings(env="dev", table=table_name(place), bucket="none", state_machine="none", tool_timeout=1.0)
    overrides = aws.Overrides(
        table=lambda _: place.wrap(dynamodb(place)), models=place.models, runner=place.runner, embedders=OneEmbedder()
    )
    return aws.house(settings, overrides, in_execution=True)


def heartbeats(house: aws.House, run_id: str) -> None:
    """What the state machine does: advance until there is nothing to do; where the step stays taken for long, close the run."""
    event = {"tenant": TENANT, "run_id": run_id}
    until = time.monotonic() + 20 * LEASE_MS / 1000
    while (follows := advance_turn.handler(event, Context(), house.chain)["next"]) in ("advance", "busy"):
        if follows == "busy" and time.monotonic() > until:
            close_run.handler({**event, "error": "States.Timeout"}, Context(), house.chain.endings)
            return


def live_aws(place: Place) -> None:
    create_table(CLIENT[0], table_name(place))  # type: ignore[arg-type]
    agent_id = place.world(dynamodb(place)).make_agent(blocks={"human": "Ann"}, tools=STORY.tools)
    place.agent.write_text(agent_id)
    house = aws_house(place)
    place.mortal.armed = True
    sender = World(Data(house.stores.conversations._table, SystemClock(), place.models))
    accepted = sender.accept(agent_id, "hello")
    heartbeats(house, accepted.run_id)


def settle_aws(place: Place) -> None:
    agent_id = place.agent.read_text()
    house = aws_house(place)
    for row in house.stores.runs.rows(TENANT, agent_id):
        heartbeats(house, str(row["sk"]).removeprefix("RUN#"))
    place.settled(dynamodb(place), agent_id)
    sender = World(Data(house.stores.conversations._table, SystemClock(), place.models))
    heartbeats(house, sender.accept(agent_id, "still there?").run_id)
    place.settled(dynamodb(place), agent_id)


PROFILES: dict[str, tuple[Callable[[Place], None], Callable[[Place], None]]] = {
    "embedded": (live_embedded, settle_embedded),
    "aws": (live_aws, settle_aws),
}


def forked(work: Callable[[], None]) -> int:
    """How a process ended that did the work: its exit status, or minus the signal."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        work()
    except BaseException:  # noqa: BLE001  the fork ends here, and its status tells
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main(profile: str, folder: Path) -> int:
    live, settle = PROFILES[profile]
    if profile == "aws":
        import boto3

        CLIENT.append(boto3.client("dynamodb", config=one_attempt()))
    for at in itertools.count(1):
        place = folder / f"{at:03}"
        ended = forked(lambda place=place, at=at: live(Place(place, Mortal(at))))  # type: ignore[misc]
        if ended not in (0, -signal.SIGKILL):
            return fails(at, "did not live")
        if forked(lambda place=place: settle(Place(place, Mortal(0)))) != 0:  # type: ignore[misc]
            return fails(at, "did not settle")
        if ended == 0:
            print(at - 1)
            return 0
    raise AssertionError("unreachable")


def fails(at: int, what: str) -> int:
    print(f"point {at}: {what}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
