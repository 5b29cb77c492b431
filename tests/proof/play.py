"""The plays of a proof in several processes: a play is one story on one engine, with a fault at each of its points.

Each process opens an engine when a play needs it first, and keeps it until the proof is over.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

from tests.conftest import FAKE_AWS
from tests.proof.engines import AT_HOME, Engine, Tally, killed, on_a_server_of_its_own
from tests.proof.partitions import few_partitions
from tests.proof.stories import STORIES

KILLED, OFFLINE, WAITING, DYNAMODB = "killed", "aws-offline", "caller waits", "DynamoDB Local"

PATIENCE = 10.0
"""Seconds that a process has to end its own processes."""


@dataclass(frozen=True)
class Play:
    """A story on an engine, both by name, with a fault at each `every`-th point."""

    engine: str
    story: str
    every: int


@dataclass(frozen=True)
class Played:
    """The outcome of a play, and its seconds."""

    play: Play
    tally: Tally
    seconds: float


class ProcessFailed(RuntimeError):
    """A process of the proof has ended before its play was over. Its own error stands above."""


def played(plays: Sequence[Play], jobs: int) -> Iterator[Played]:
    """Play in `jobs` processes, and begin the plays in their order.

    Raises: ProcessFailed.
    """
    waiting = deque(plays)
    with ExitStack() as running:
        idle = [running.enter_context(_process()) for _ in range(min(jobs, len(plays)))]
        busy: dict[Connection, Play] = {}
        while waiting or busy:
            while idle and waiting:
                busy[idle[-1]] = waiting.popleft()
                idle[-1].send(busy[idle.pop()])
            for free in wait(list(busy)):
                assert isinstance(free, Connection)
                play = busy.pop(free)
                try:
                    yield Played(play, *free.recv())
                except EOFError as error:
                    raise ProcessFailed(f"{play.engine}: {play.story}") from error
                idle.append(free)


@contextmanager
def _process() -> Iterator[Connection]:
    """A process that plays what it receives until the connection is closed. An error in the context ends it at once."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_plays, args=(there,), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    except BaseException:
        process.terminate()
        process.join(PATIENCE)
        process.kill()
        raise
    finally:
        here.close()
        process.join()


def end_on_sigterm() -> None:
    """Make SIGTERM raise SystemExit, so that every open context ends the processes that it has started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _plays(asked: Connection) -> None:
    """The work of a process."""
    end_on_sigterm()
    warnings.simplefilter("ignore")
    os.environ.update(FAKE_AWS)
    logging.disable(logging.CRITICAL)
    by_name = {story.name: story for story in STORIES}
    engines: dict[str, Engine] = {}
    with few_partitions(), ExitStack() as opened:
        while True:
            try:
                play: Play = asked.recv()
            except EOFError:
                return
            if play.engine not in engines:
                engines |= opened.enter_context(engines_with(play.engine))
            began = time.monotonic()
            tally = engines[play.engine](by_name[play.story], 1, play.every)
            asked.send((tally, time.monotonic() - began))


@contextmanager
def engines_with(name: str) -> Iterator[dict[str, Engine]]:
    """The engine with this name, and those that share its resources."""
    match name:
        case "killed":
            with killed("embedded") as engine:
                yield {name: engine}
        case "DynamoDB Local":
            with on_a_server_of_its_own() as engine:
                yield {name: engine}
        case "aws-offline" | "caller waits":
            from tests.proof.offline import on_aws_offline

            with on_aws_offline() as both:
                yield {OFFLINE: both.background, WAITING: both.waiting}
        case _:
            yield {name: AT_HOME[name]}
