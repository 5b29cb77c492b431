"""Invariant 7, where everything goes wrong for good: a run that can never go on is closed within its bound, and its agent answers
again.
"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.errors import ModelTimeout
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.runs.tenant_sweep import LONGEST_RUN, MOST_SWEEPS
from hibernaut.services.steps.model_step import LONGEST_CALL
from tests.support.scripted_model import Script, calls, in_turn, nothing, says
from tests.support.settled import check_settled
from tests.support.tables import PassesOn
from tests.support.world import Inline, World, data_in

RING = calls(("ring", {"x": "1"}))


def opened(folder: Path, script: Script) -> tuple[World, str]:
    world = World(data_in(folder, script))
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "ring"))


class Loses(Inline):
    """A workflow that never hears of these starts, by their number from 1, and hears of the others as often as `times` says."""

    def __init__(self, lost: set[int], times: int = 1) -> None:
        super().__init__()
        self._lost, self._times, self._seen = lost, times, 0

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        self._seen += 1
        for _ in range(0 if self._seen in self._lost else self._times):
            super().start(run, name=name, inline=inline)


def sweeps(world: World, seconds: float = 61.0) -> None:
    """A minute passes, and the sweep comes."""
    world.clock.sleep(seconds)
    world.engines.sweep.run()
    world.workflow.drive()


def test_a_request_whose_workflow_never_starts_is_begun_by_the_next_sweep(tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path, in_turn(says("done")))
    world = World(plain.data, alone=False, workflow=Loses({1}))
    run_id = world.send(agent_id, "hello")
    assert world.run(run_id).run.status is RunStatus.RUNNING
    sweeps(world)
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    check_settled(world, agent_id)


def test_a_hand_over_that_reaches_nobody_is_made_good_by_the_sweep(tmp_path: Path) -> None:
    """The first run ends and starts the one that waits, and that start is lost."""
    plain, agent_id = opened(tmp_path, in_turn(says("done")))
    world = World(plain.data, alone=False, workflow=Loses({2}))
    first = world.begin(agent_id, "hello")
    waits = world.accept(agent_id, "me too").run_id
    world.workflow.drive()
    assert (world.run(first).ended, world.run(waits).run.status) == (True, RunStatus.RUNNING)
    sweeps(world)
    assert world.run(waits).run.stop_reason is StopReason.END_TURN
    check_settled(world, agent_id)


@pytest.mark.parametrize("times", [2, 3])
def test_a_start_that_is_delivered_more_than_once_does_the_work_once(times: int, tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    world = World(plain.data, alone=False, workflow=Loses(set(), times))
    world.send(agent_id, "hello")
    assert (len(world.models.requests), len(world.runner.effects)) == (2, 1)
    check_settled(world, agent_id)


def test_a_closing_that_is_lost_is_done_by_the_sweep(tmp_path: Path) -> None:
    """Every step fails by a mistake of ours, and so does the closing; when the closing can be written the run ends."""
    plain, agent_id = opened(tmp_path, in_turn(ZeroDivisionError("ours"), says("done")))
    world = World(plain.data, alone=False)
    tried: list[str] = []
    closes = world.workflow.close

    def lost(run: RunRef) -> None:
        tried.append(run.run_id)

    world.workflow.close = lost
    plain.models.script = in_turn(ZeroDivisionError("ours"))
    run_id = world.send(agent_id, "hello")
    assert (tried, world.run(run_id).ended) == ([run_id], False)
    world.workflow.close = closes
    sweeps(world)
    assert world.run(run_id).run.stop_reason is StopReason.ERROR
    plain.models.script = in_turn(says("done"))
    assert world.run(world.send(agent_id, "still there?")).run.stop_reason is StopReason.END_TURN
    check_settled(world, agent_id)


def test_an_execution_that_is_stopped_from_outside_is_taken_up_again_where_it_was(tmp_path: Path) -> None:
    """Nobody goes on after the first step, as if somebody had stopped the execution by hand."""
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    world = World(plain.data, alone=False)
    run_id = world.accept(agent_id, "hello").run_id
    assert world.advance(run_id) == "advance"
    sweeps(world)
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    assert len(world.runner.effects) == 1
    check_settled(world, agent_id)


def test_a_model_that_never_answers_ends_the_run_by_its_time_limit(tmp_path: Path) -> None:
    """Each call takes all the time that it is given, which is never more than a call may have."""

    def script(request: ModelRequest, number: int) -> ModelReply:
        assert request.timeout <= LONGEST_CALL
        world.clock.sleep(request.timeout)
        raise ModelTimeout("no answer")

    world, agent_id = opened(tmp_path, script)
    began = world.clock.now()
    run_id = world.send(agent_id, "hello")
    assert world.run(run_id).run.stop_reason is StopReason.LLM_API_ERROR
    assert world.clock.now() - began < timedelta(minutes=15)
    plain = World(world.data)
    world.models.script = in_turn(says("done"))
    assert plain.run(plain.send(agent_id, "still there?")).run.stop_reason is StopReason.END_TURN
    check_settled(plain, agent_id)


class Died(BaseException):
    """The process is no more."""


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["model", "tool"]), st.integers(1, 2), st.sampled_from([61, 1000, 5000]))
def test_a_run_that_can_never_go_on_is_closed_and_the_next_message_is_answered(where: str, step: int, minutes: int) -> None:
    """A poisoned message: whoever is at it dies there, each time. After so many takings, or a day, the run is closed from
    outside.
    """
    with tempfile.TemporaryDirectory() as folder:
        world, agent_id = opened(Path(folder), in_turn(RING))
        world = World(world.data, alone=False)

        def dies(place: str) -> None:
            if place == f"before {where}" and len(world.runner.effects) >= step - 1:
                raise Died

        world.models.at = world.runner.at = dies
        run_id = world.accept(agent_id, "poison").run_id
        taken, began = 0, world.clock.now()
        while not world.run(run_id).ended:
            house = World(world.data, holder=f"host:{taken}", alone=False)
            try:
                sweeps(house, minutes)
            except Died:
                taken += 1
            assert taken <= MOST_SWEEPS, "it is taken up again and again"
            assert world.clock.now() - began <= LONGEST_RUN + timedelta(days=3)
        assert world.run(run_id).run.stop_reason in (StopReason.ERROR, StopReason.MAX_STEPS)
        world.models.at = world.runner.at = nothing
        world.models.script = in_turn(says("done"))
        last = World(world.data, holder="host:last", alone=False)
        assert last.run(last.send(agent_id, "still there?")).run.stop_reason is StopReason.END_TURN
        check_settled(last, agent_id)


class Spoilt(PassesOn):
    """A table in which one row of the log cannot be read any more."""

    spoilt = ""

    def query(self, pk: str, **asked: object) -> list[Item]:
        return [self._seen(item) for item in super().query(pk, **asked)]  # type: ignore[arg-type]

    def _seen(self, item: Item) -> Item:
        return {**item, "body": "{"} if self.spoilt and self.spoilt in str(item["sk"]) and "body" in item else item

    def get(self, key: Key) -> Item | None:
        item = super().get(key)
        return self._seen(item) if item else None


def test_a_row_that_our_code_always_fails_on_ends_the_run_with_an_error_at_once(tmp_path: Path) -> None:
    """The message was taken, and what loads it fails each time; nobody waits for it for ever, nor do those behind it."""
    plain, agent_id = opened(tmp_path, in_turn(says("done")))
    run_id = plain.accept(agent_id, "hello").run_id
    behind = plain.accept(agent_id, "me too").run_id
    tables: list[Spoilt] = []

    def wrap(table: object) -> Spoilt:
        tables.append(Spoilt(table))  # type: ignore[arg-type]
        tables[-1].spoilt = f"MSG#{plain.run(run_id).run.first_message}"
        return tables[-1]

    world = World(plain.data, holder="host:2", wrap=wrap)
    world.sending.start(run_id)
    world.workflow.drive()
    assert [plain.run(one).run.stop_reason for one in (run_id, behind)] == [StopReason.ERROR] * 2
    assert (plain.head(agent_id).owner, plain.head(agent_id).waiting) == (None, 0)
    tables[0].spoilt = ""
    assert plain.run(plain.send(agent_id, "still there?")).run.stop_reason is StopReason.END_TURN
    check_settled(plain, agent_id)
