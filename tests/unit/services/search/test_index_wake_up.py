"""A sleeping index is woken when a run begins, and nobody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.services.search.index_wake_up import SEARCHING, STAYS_AWAKE, IndexWakeUp
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.wiring.run_engine import RunEngines
from hibernaut.wiring.run_resources import SearchEngines
from tests.support.clocks import ManualClock
from tests.support.late_index import LateMemoryIndex
from tests.support.scripted_model import in_turn, says
from tests.support.world import TENANT, World, data_in

ALL = ["send_message", *SEARCHING]


class Waking:
    """The request waits in `started` until the test answers it."""

    def __init__(self) -> None:
        self.clock, self.index = ManualClock(), LateMemoryIndex()
        self.started: list[Callable[[], None]] = []
        self.wake_up = IndexWakeUp(self.index, self.clock, start=self.started.append)

    def answered(self) -> None:
        while self.started:
            self.started.pop()()


@pytest.fixture
def waking() -> Iterator[Waking]:
    made = Waking()
    yield made
    made.index.close()


def test_a_run_sends_a_request_ahead_and_waits_for_nothing(waking: Waking) -> None:
    waking.wake_up.run_begins(ALL)
    assert (len(waking.started), waking.index.calls) == (1, [])
    waking.answered()
    assert waking.index.calls == ["wake"]


def test_however_many_runs_begin_there_is_one_request_at_a_time_and_one_in_some_minutes(waking: Waking) -> None:
    for _ in range(5):
        waking.wake_up.run_begins(ALL)
    assert len(waking.started) == 1
    waking.clock.sleep(STAYS_AWAKE + 1)
    waking.wake_up.run_begins(ALL)
    assert len(waking.started) == 1, "the first is not answered yet"
    waking.answered()
    waking.wake_up.run_begins(ALL)
    assert len(waking.started) == 1
    waking.answered()
    waking.clock.sleep(STAYS_AWAKE - 1)
    waking.wake_up.run_begins(ALL)
    assert waking.started == []


def test_a_request_that_fails_fails_no_run_and_the_next_run_tries_again(waking: Waking) -> None:
    waking.index.asleep = True
    waking.wake_up.run_begins(ALL)
    waking.answered()
    waking.wake_up.run_begins(ALL)
    assert len(waking.started) == 1


def test_an_agent_that_cannot_search_wakes_nothing(waking: Waking) -> None:
    waking.wake_up.run_begins(["send_message", "core_memory_append"])
    assert waking.started == []


@pytest.mark.parametrize("there", [True, False])
def test_what_never_sleeps_is_not_woken(there: bool, tmp_path: Path) -> None:
    index = SqliteMemoryIndex(tmp_path / "index.db") if there else None
    started: list[Callable[[], None]] = []
    IndexWakeUp(index, ManualClock(), start=started.append).run_begins(ALL)
    assert started == []
    if index is not None:
        index.close()


class Woken(LateMemoryIndex):
    """Tells when it is woken."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = threading.Event()

    def wake(self) -> None:
        super().wake()
        self.woken.set()


@pytest.mark.parametrize(("tools", "wakes"), [(("conversation_search",), True), ((), False)])
def test_the_first_step_of_a_run_wakes_it_beside_the_model_call(tools: tuple[str, ...], wakes: bool, tmp_path: Path) -> None:
    world, index = World(data_in(tmp_path, in_turn(says("One."), says("Two.")))), Woken()
    engines = RunEngines(world.all_stores, world.host, world.models, world.runner, ToolLimits(), SearchEngines(index))
    for text in ("hello", "again"):
        run = world.begin(world.make_agent(tools=tools), text)
        assert engines.of(TENANT).turns.advance(run).next == "finished"
    if wakes:
        assert index.woken.wait(10)
    assert index.calls == (["wake"] if wakes else [])
    index.close()
