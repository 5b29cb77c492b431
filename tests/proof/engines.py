"""The engines of the proof: each plays one story with a fault at every point, or at every n-th point, and counts the findings."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.proof import at_home
from tests.proof.at_home import PlayedStory, Trial
from tests.proof.stories import Story
from tests.proof.verdict import Finding
from tests.support.dynamodb_local import DynamoDbLocal

ROOT = Path(__file__).parents[2]
SECONDS = 1800.0
"""The time limit of a story. At two points a second, no story takes a quarter of it."""
MEMORY = Path("/dev/shm")


@dataclass
class Tally:
    """The counts of an engine: `points` at which a fault was injected, `runs`, and the findings. A run that did not end is a
    finding.
    """

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


def in_this_process(fault: Callable[[PlayedStory, int], Trial]) -> Engine:
    """The engine for one of the faults of `at_home`."""

    def engine(story: Story, first: int, every: int) -> Tally:
        tally = Tally()
        with folder() as place:
            for at in itertools.count(first, every):
                with closing(PlayedStory(story, place / str(at))) as played:
                    tried = fault(played, at)
                tally.runs += tried.runs
                tally.found += [(f"{story.name}, point {at}, {tried.place}", finding) for finding in tried.found]
                if not tried.place:
                    return tally
                tally.points += 1
        raise AssertionError("unreachable")

    return engine


@contextmanager
def killed(profile: str, **environment: str) -> Iterator[Engine]:
    """Processes that a signal kills. Each attempt has its own process, a fork of one program that is open for all stories."""
    command = [sys.executable, "-m", "tests.proof.processes", profile]
    path = os.pathsep.join([str(ROOT), str(ROOT / "shared")])
    with tempfile.TemporaryFile("w+") as errors:
        program = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with program, _killed_with_an_error(program):

            def engine(story: Story, first: int, every: int) -> Tally:
                with folder() as place:
                    told = _asked(program, json.dumps([str(place), story.name, first, every]))
                if told is None:
                    errors.seek(0)
                    return Tally(found=[(story.name, Finding("bricked", f"the program ended: {errors.read()[-2000:]}"))])
                found = [(f"{story.name}, {where}", Finding(kind, words)) for where, kind, words in told["found"]]
                return Tally(told["points"], told["runs"], found)

            yield engine


@contextmanager
def _killed_with_an_error(program: subprocess.Popen[str]) -> Iterator[None]:
    """An error in the context ends the program at once; otherwise it ends when its input is closed."""
    try:
        yield
    except BaseException:
        program.kill()
        raise


def _asked(program: subprocess.Popen[str], order: str) -> dict[str, Any] | None:
    """The answer of a program to a line; None if it has ended. It is killed after the time limit of a story."""
    assert program.stdin is not None
    assert program.stdout is not None
    limit = threading.Timer(SECONDS, program.kill)
    limit.daemon = True
    limit.start()
    try:
        program.stdin.write(f"{order}\n")
        program.stdin.flush()
        answer = program.stdout.readline()
    except BrokenPipeError:
        return None
    finally:
        limit.cancel()
    told: dict[str, Any] | None = json.loads(answer) if answer else None
    return told


@contextmanager
def on_dynamodb_local(endpoint: str) -> Iterator[Engine]:
    """The handlers of the profile aws in processes that a signal kills, over the DynamoDB Local at this address."""
    keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": "eu-central-1"}
    with killed("aws", AWS_ENDPOINT_URL_DYNAMODB=endpoint, **keys) as engine:
        yield engine


@contextmanager
def on_a_server_of_its_own() -> Iterator[Engine]:
    """The engine `on_dynamodb_local` with a server that it starts."""
    server = DynamoDbLocal()
    server.start()
    try:
        with on_dynamodb_local(server.endpoint) as engine:
            yield engine
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
