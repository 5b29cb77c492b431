"""The workflow of the function whose caller waits: what it drives itself, and what it leaves to the other engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from hibernaut.adapters.workflow.caller_thread import CallerThread
from hibernaut.ports.runs.workflow import Next, RunRef
from tests.support.clocks import ManualClock

RUN = RunRef("default", "run-1")


@dataclass
class Others:
    """The other engine, which records what it is told."""

    told: list[object] = field(default_factory=list)

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        assert not inline
        self.told.append((run, name))

    def stop(self, run: RunRef) -> None:
        self.told.append(("stop", run))

    def end_wait(self, run: RunRef, token: str) -> None:
        self.told.append(("end_wait", run, token))


def engine(others: Others, advance: Callable[[], Next]) -> CallerThread:
    made = CallerThread(others, ManualClock(), seconds=820)
    made.bind(lambda _run, _left: advance())
    return made


def forbidden() -> Next:
    raise AssertionError("nobody waits for this run here")


@pytest.mark.parametrize("follows", ["finished", "waiting", "approval"])
def test_a_run_whose_caller_waits_is_driven_without_the_other_engine(follows: Next) -> None:
    others = Others()
    engine(others, lambda: follows).start(RUN, inline=True)
    assert others.told == []


@pytest.mark.parametrize("follows", ["advance", "compact", "busy"])
def test_a_run_that_cannot_end_here_goes_on_in_the_other_engine_under_its_own_name(follows: Next) -> None:
    others = Others()
    engine(others, lambda: follows).start(RUN, inline=True)
    assert others.told == [(RUN, None)]


@pytest.mark.parametrize("error", [OSError("the table is away"), ValueError("a defect")])
def test_a_step_that_fails_is_retried_by_the_other_engine(error: Exception) -> None:
    others = Others()

    def fails() -> Next:
        raise error

    engine(others, fails).start(RUN, inline=True)
    assert others.told == [(RUN, None)]


def test_a_run_for_which_nobody_waits_belongs_to_the_other_engine() -> None:
    others = Others()
    made = engine(others, forbidden)
    made.start(RUN)
    made.start(RUN, name="run-1.2")
    made.stop(RUN)
    made.end_wait(RUN, "token")
    assert others.told == [(RUN, None), (RUN, "run-1.2"), ("stop", RUN), ("end_wait", RUN, "token")]


def test_the_time_of_a_worker_passes_from_its_start_on() -> None:
    others, clock, seen = Others(), ManualClock(), list[float]()
    made = CallerThread(others, clock, seconds=820)

    def advance(_run: RunRef, left: Callable[[], float]) -> Next:
        seen.append(left())
        clock.sleep(100)
        seen.append(left())
        return "finished"

    made.bind(advance)
    made.start(RUN, inline=True)
    assert seen == [820, 720]
