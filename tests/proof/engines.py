"""The engines of the proof: each plays one story with a fault at every point, or at every n-th point, and counts the findings."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.proof import at_home
from tests.proof.at_home import Trial
from tests.proof.stories import Story
from tests.proof.verdict import Finding
from tests.support.dynamodb_local import DynamoDbLocal

ROOT = Path(__file__).parents[2]
SECONDS = 1800.0
"""The time limit of a story. At two points a second, no story takes a quarter of it."""
MEMORY = Path("/dev/shm")


@dataclass
class Tally:
    """The counts of an engine: `points` at which a fault was injected, `runs`, and the findings. A run that did not end is a finding."""

    points: int = 0
    runs: int = 0
    found: list[tuple[str, Finding]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.points += other.points
        self.runs += other.runs
        self.found += other.found

    def count(self, kind: str) -> int:
        return sum(finding.kind == kind for _, finding in self.found)

    @property
    def ended(self) -> int:
        return self.runs - sum("is running" in finding.words for _, finding in self.found)


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for the data of one story, which is deleted afterwards."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as name:
        yield Path(name)


Engine = Callable[[Story, int, int], Tally]
"""Plays the story with a fault at each `every`-th point, beginning with the `first`."""


def in_this_process(fault: Callable[[Story, Path, int], Trial]) -> Engine:
    """The engine for one of the faults of `at_home`."""

    def engine(story: Story, first: int, every: int) -> Tally:
        tally = Tally()
        with folder() as place:
            for at in itertools.count(first, every):
                tried = fault(story, place / str(at), at)
                tally.runs += tried.runs
                tally.found += [(f"{story.name}, point {at}, {tried.place}", finding) for finding in tried.found]
                if not tried.place:
                    return tally
                tally.points += 1
        raise AssertionError("unreachable")

    return engine


def killed(profile: str, **environment: str) -> Engine:
    """Processes that a signal kills. Each attempt has its own process."""

    def engine(story: Story, first: int, every: int) -> Tally:
        with folder() as place:
            done = subprocess.run(
                [sys.executable, "-m", "tests.proof.processes", profile, str(place), story.name, str(first), str(every)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "shared")]), **environment},
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        if done.returncode != 0:
            return Tally(found=[(story.name, Finding("bricked", done.stderr[-2000:]))])
        told = json.loads(done.stdout.splitlines()[-1])
        found = [(f"{story.name}, {where}", Finding(kind, words)) for where, kind, words in told["found"]]
        return Tally(told["points"], told["runs"], found)

    return engine


def on_dynamodb_local(endpoint: str) -> Engine:
    """The handlers of the profile aws in processes that a signal kills, over the DynamoDB Local at this address."""
    nowhere = "http://127.0.0.1:1"
    keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": "eu-central-1"}
    return killed("aws", AWS_ENDPOINT_URL_DYNAMODB=endpoint, AWS_ENDPOINT_URL_STEPFUNCTIONS=nowhere, **keys)


def on_a_server_for_each_story(story: Story, first: int, every: int) -> Tally:
    """The engine `on_dynamodb_local` with a server of its own for each story: a server answers more slowly with all that it has ever stored."""
    server = DynamoDbLocal()
    server.start()
    try:
        return on_dynamodb_local(server.endpoint)(story, first, every)
    finally:
        server.close()


AT_HOME: dict[str, Engine] = {
    "restarted": in_this_process(at_home.restarted),
    "dies twice": in_this_process(at_home.twice),
    "taken over": in_this_process(at_home.taken_over),
    "held up": in_this_process(at_home.overtaken),
    "no answer": in_this_process(at_home.unanswered),
    "no start": in_this_process(at_home.unstarted),
}
