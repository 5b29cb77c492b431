"""What a run tells of the deaths of its workers, and a step of the model calls that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.errors import ModelOverloaded, ModelRateLimit
from hibernaut.schemas.runs.run import RunMetrics
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.stop import StopReason
from hibernaut.services.logs.messages import MessageLists
from hibernaut.services.runs.runs import Runs
from hibernaut.services.steps.step_lease import MOST_TAKE_UPS
from tests.protocol.staged import RING, Died, opened
from tests.support.scripted_model import Script, in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World


def killed(world: World, run_id: str, writes: int) -> None:
    """A process takes the run, and is killed before a write: it makes so many writes, and none later."""
    made = 0

    def before(_number: int, kind: str) -> None:
        nonlocal made
        if kind == "before write":
            made += 1
            if made > writes:
                raise Died

    with pytest.raises(Died):
        World(world.data, holder="host:0", alone=False, wrap=lambda table: CountingTable(table, before)).advance(run_id)


def metrics(world: World, run_id: str) -> RunMetrics:
    stores = world.stores
    messages = MessageLists(
        agents=stores.agents, conversations=stores.conversations, agent_logs=stores.agent_logs, log=stores.messages
    )
    runs = Runs(
        runs=stores.runs,
        steps=stores.steps,
        messages=messages,
        approvals=stores.approvals,
        conversations=stores.conversations,
        deletion=stores.deletion,
    )
    return runs.metrics(run_id)


def test_a_run_that_nobody_died_in_tells_of_no_death(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, in_turn(RING, says("done")))
    told = metrics(world, world.send(agent, "hello"))
    assert (told.take_ups, told.sweeps, told.attempts) == ([], 0, 2)


@pytest.mark.parametrize(("writes", "stored"), [(1, False), (2, True)], ids=["before the reply", "after the journal"])
def test_a_step_that_is_taken_up_after_a_death_says_under_which_conditions(tmp_path: Path, writes: int, stored: bool) -> None:
    world, agent = opened(tmp_path, in_turn(RING, says("done")) if stored else in_turn(says("lost"), says("done")))
    run_id = world.accept(agent, "hello").run_id
    killed(world, run_id, writes)
    lease = world.run(run_id).lease
    world.clock.sleep(1000)
    other = World(world.data, holder="host:2", alone=False)
    assert other.engines.sweep.run().started == 1
    other.workflow.drive()
    told = metrics(other, run_id)
    assert other.run(run_id).run.stop_reason is StopReason.END_TURN
    [death] = told.take_ups
    assert (death.step, death.attempt, death.reason, death.reply_stored, death.sweeps) == (1, 2, "lease_expired", stored, 1)
    assert int(death.lease_until.timestamp() * 1000) == lease
    assert death.at > death.lease_until
    assert told.sweeps == 1


def test_the_reason_says_whether_the_lease_had_expired(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, in_turn(says("lost"), says("lost"), says("done")))
    run_id = world.accept(agent, "hello").run_id
    killed(world, run_id, 1)
    other = World(world.data, holder="host:2", alone=False)
    assert other.advance(run_id) == "busy"
    with pytest.raises(Died):
        World(world.data, holder="host:1", alone=False, wrap=dies_at_its_second_write).chain.turns.advance(
            run_id, takes_over=True
        )
    World(world.data, holder="host:3", alone=True).sweep()
    assert [(one.reason, one.attempt) for one in metrics(other, run_id).take_ups] == [("death_reported", 2), ("process_gone", 3)]


def dies_at_its_second_write(table: object) -> CountingTable:
    made: list[str] = []

    def before(_number: int, kind: str) -> None:
        if kind == "before write":
            made.append(kind)
            if len(made) > 1:
                raise Died

    return CountingTable(table, before)  # type: ignore[arg-type]


def test_a_run_keeps_the_newest_deaths_alone(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, lambda _, __: says("lost"))
    run_id = world.accept(agent, "hello").run_id
    for _ in range(MOST_TAKE_UPS + 3):
        killed(world, run_id, 1)
        world.clock.sleep(1000)
    kept = metrics(world, run_id).take_ups
    assert [one.attempt for one in kept] == list(range(4, 4 + MOST_TAKE_UPS))


def failing(*errors: Exception, then: ModelReply) -> Script:
    waiting = list(errors)

    def script(_: ModelRequest, __: int) -> ModelReply:
        if waiting:
            raise waiting.pop(0)
        return then

    return script


def step_of(world: World, run_id: str) -> StoredStep:
    [step] = world.stores.steps.of_run(run_id)
    return step


def test_a_step_tells_which_of_its_model_calls_failed_and_how_long_it_waited(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, failing(ModelOverloaded("busy"), ModelRateLimit("slow", retry_after=7), then=says("done")))
    step = step_of(world, world.send(agent, "hello"))
    assert [(one.model, one.code) for one in step.failed_calls] == [
        ("test/scripted", "llm_overloaded"),
        ("test/scripted", "llm_rate_limit"),
    ]
    assert all(one.waited for one in step.failed_calls)
    assert step.wire().failed_calls == step.failed_calls


def test_a_step_that_failed_tells_its_last_call_too_and_one_of_a_journal_keeps_them(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, failing(*[ModelOverloaded("busy")] * 9, then=says("done")))
    calls = step_of(world, world.send(agent, "hello")).failed_calls
    assert [one.waited is None for one in calls] == [False] * (len(calls) - 1) + [True]
    assert len(calls) > 1
    other, agent = opened(tmp_path / "other", failing(ModelOverloaded("busy"), then=RING))
    run_id = other.accept(agent, "hello").run_id
    killed(other, run_id, 2)
    other.clock.sleep(1000)
    World(other.data, holder="host:2", alone=False).advance(run_id)
    [failed] = step_of(other, run_id).failed_calls
    assert (failed.model, failed.code) == ("test/scripted", "llm_overloaded")
