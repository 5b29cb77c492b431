"""The bounded form of the proof: each story at some of its points, on each engine. `make proof` takes every point."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hibernaut.schemas.stop import StopReason
from tests.proof import at_home
from tests.proof.engines import AT_HOME, Engine, Tally, killed, on_dynamodb_local
from tests.proof.faults import PausedPoints, Points
from tests.proof.partitions import few_partitions
from tests.proof.stories import STILL_THERE, STORIES, Story
from tests.proof.table import points_of, sums_of
from tests.proof.verdict import Finding, runs
from tests.support.dynamodb_local import DynamoDbLocal, dynamodb_local

if TYPE_CHECKING:
    from tests.proof.offline import OfflineEngines

__all__ = ["dynamodb_local"]

EVERY = 41
OFTEN = {"restarted": 9, "taken over": 17, "no answer": 17, "no start": 1}
"""The step between the points of a story. It is odd, because the points before and after an operation alternate: an even step
would take only one of them. Each fault begins at another point.
"""
BY_NAME = {story.name: story for story in STORIES}
STOPS = {name: [StopReason.CANCELLED] for name in ("cancel", "interrupt", "agent call: cancel")}
"""The stop reason of a story's first run without a fault. A run that requests an approval ends with that."""
named = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


@pytest.fixture(autouse=True, scope="module")
def partitions() -> Iterator[None]:
    with few_partitions():
        yield


def never() -> None:
    """The fault of the plays without a fault."""


@named
def test_wherever_a_fault_strikes_at_home_nothing_is_lost_doubled_or_bricked(story: Story) -> None:
    for first, (fault, engine) in zip(count(1), AT_HOME.items(), strict=False):
        every = OFTEN.get(fault, EVERY)
        assert engine(story, min(first, every), every).found == []


@named
def test_a_story_is_what_its_name_says(story: Story, tmp_path: Path) -> None:
    with closing(at_home.PlayedStory(story, tmp_path)) as played:
        world = played.lives(Points(0, never))
        reasons = [state.run.stop_reason for state in runs(world, played.agent_id)]
        asks = story.name.startswith("approval") or story.name == "client tool"
        assert reasons[:1] == ([StopReason.REQUIRES_APPROVAL] if asks else STOPS.get(story.name, [StopReason.END_TURN]))
        assert story.name != "compaction" or any(row.role == "summary" for row in world.log(played.agent_id))
        assert not story.blobs or played.data.blobs.puts
        assert played.judged(Points(0, never), world).found == []


@pytest.fixture(scope="module")
def at_home_killed() -> Iterator[Engine]:
    with killed("embedded") as engine:
        yield engine


@pytest.fixture(scope="module")
def over_dynamodb_killed(dynamodb_local: DynamoDbLocal) -> Iterator[Engine]:
    with on_dynamodb_local(dynamodb_local.endpoint) as engine:
        yield engine


@pytest.mark.parametrize(
    ("name", "every"), [("parallel tools", 3), ("two senders", 9), ("approval: mixed", 9), ("compaction", 17)]
)
def test_processes_at_home_that_are_killed_lose_nothing(name: str, every: int, at_home_killed: Engine) -> None:
    tally = at_home_killed(BY_NAME[name], min(2, every), every)
    assert tally.found == []
    assert tally.points > 1


@pytest.mark.parametrize(("name", "every"), [("parallel tools", 7), ("approval: yes", 9)])
def test_handlers_over_dynamodb_that_are_killed_lose_nothing(name: str, every: int, over_dynamodb_killed: Engine) -> None:
    tally = over_dynamodb_killed(BY_NAME[name], min(3, every), every)
    assert tally.found == []
    assert tally.points > 1


@pytest.fixture(scope="module")
def offline() -> Iterator[OfflineEngines]:
    from tests.proof.offline import on_aws_offline

    with on_aws_offline() as engines:
        yield engines


@pytest.mark.parametrize(
    ("name", "every"), [("parallel tools", 11), ("interrupt", 15), ("approval: yes", 15), ("agent call", 19)]
)
def test_deployed_handlers_that_are_abandoned_lose_nothing(name: str, every: int, offline: OfflineEngines) -> None:
    tally = offline.background(BY_NAME[name], 4, every)
    assert tally.found == []
    assert tally.points > 1


@pytest.mark.parametrize(
    ("name", "every"), [("plain", 5), ("tokens", 11), ("approval: yes", 17), ("compaction", 41), ("group turn", 61)]
)
def test_a_function_that_is_abandoned_while_its_caller_waits_loses_nothing(
    name: str, every: int, offline: OfflineEngines
) -> None:
    tally = offline.waiting(BY_NAME[name], 3, every)
    assert tally.found == []
    assert tally.points > 1


def test_a_program_that_ends_is_a_finding() -> None:
    """A story whose processes cannot be made at all counts as bricked, not as a proof without points."""
    with killed("no such profile") as engine:
        tally = engine(BY_NAME["plain"], 1, 1)
    assert [(where, finding.kind) for where, finding in tally.found] == [("plain", "bricked")]
    assert "KeyError" in tally.found[0][1].words


def test_what_is_found_is_counted_and_told() -> None:
    broken = Tally(
        3, 4, [("x, point 1", Finding("lost", "'hello' is lost")), ("x, point 2", Finding("bricked", "run r is running"))]
    )
    tallies = {("x", "one"): broken, ("y", "two"): Tally(5, 5)}
    assert points_of(tallies, ["x", "y"], ["one", "two"]).splitlines()[2:] == [
        "| x        |   3 |   – |",
        "| y        |   – |   5 |",
    ]
    last = sums_of(tallies, ["one", "two"], {"one": 1.4, "two": 2.0}).splitlines()[-1]
    assert [cell.strip() for cell in last.split("|")[1:-1]] == ["all", "8", "8 of 9", "1", "0", "1", "3"]


def test_a_house_that_does_lose_doubles_or_bricks_is_found(tmp_path: Path) -> None:
    """Tests the verdict: it reports the state that a broken server would leave."""
    with closing(at_home.PlayedStory(BY_NAME["parallel tools"], tmp_path)) as played:
        world = played.lives(Points(0, never))
        world.runner.effects.append(world.runner.effects[0])
        played.notes.answers[STILL_THERE] = "said"
        tried = at_home.verdict(world, played.agent_id, ["hello", "never taken"], {})
        assert sorted(finding.kind for finding in tried) == ["doubled", "lost"]
        world.accept(played.agent_id, "nobody drives this")
        assert "bricked" in [finding.kind for finding in at_home.verdict(world, played.agent_id, [], {})]


def test_a_process_that_is_held_up_at_one_point_reaches_no_other() -> None:
    order, reached = [], threading.Event()

    def other_thread() -> None:
        reached.set()
        points.point("before get")
        order.append("other")

    other = threading.Thread(target=other_thread)

    def held_up() -> None:
        other.start()
        reached.wait()
        other.join(0.05)  # Long enough to pass if nothing held it.
        order.append("held up")

    points = PausedPoints(1, held_up)
    points.point("after model")
    other.join()
    assert order == ["held up", "other"]
