"""What a run costs: the costs of its steps, each counted once, shown with each step, the run's usage and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from hibernaut.domain.models.retries import TRIES
from hibernaut.domain.models.usage_rows import usage_rows
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.errors import ModelOverloaded
from hibernaut.schemas.models.fallback import ModelFallback
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.usage import RunUsage
from tests.support.scripted_model import USAGE, calls, in_turn, nothing, says
from tests.support.world import World, data_in

DAY = date(2026, 11, 10)


def at(reply: ModelReply, cost: str | None) -> ModelReply:
    priced = {"cost": Decimal(cost), "price_list_date": DAY} if cost else {}
    return ModelReply(text=reply.text, tool_calls=reply.tool_calls, usage=USAGE.model_copy(update=priced))


def prepared(folder: Path, *costs: str | None) -> tuple[World, str]:
    """A world whose model answers with a step for each of these costs, and an agent."""
    ring = calls(("ring", {"x": "twice"}))
    replies = [at(ring, cost) for cost in costs[:-1]] + [at(says("done"), costs[-1])]
    world = World(data_in(folder, in_turn(*replies)))
    return world, world.make_agent(tools=("ring",))


def ran(folder: Path, *costs: str | None) -> tuple[World, str]:
    world, agent_id = prepared(folder, *costs)
    return world, world.send(agent_id, "hi")


def steps_of(world: World, run_id: str) -> Sequence[StoredStep]:
    return world.stores.steps.of_run(run_id)


def test_a_run_costs_what_its_steps_cost(tmp_path: Path) -> None:
    world, run_id = ran(tmp_path, "0.1", "0.2", "0.0000003")
    assert [step.cost for step in steps_of(world, run_id)] == [Decimal("0.1"), Decimal("0.2"), Decimal("0.0000003")]
    assert {step.price_list_date for step in steps_of(world, run_id)} == {DAY}
    shown = world.response(run_id).usage
    assert (shown.cost, shown.price_list_date) == (Decimal("0.3000003"), DAY)
    assert '"cost":0.3000003,"price_list_date":"2026-11-10"' in shown.model_dump_json()


def test_a_run_with_a_step_of_unknown_price_has_an_unknown_cost(tmp_path: Path) -> None:
    world, run_id = ran(tmp_path, "0.1", None, "0.2")
    shown = world.response(run_id).usage
    assert (shown.cost, shown.price_list_date) == (None, None)
    assert shown.total_tokens == 3 * USAGE.total_tokens
    assert [step.cost for step in steps_of(world, run_id)] == [Decimal("0.1"), None, Decimal("0.2")]


def test_a_reply_that_a_crash_left_in_the_journal_is_counted_once(tmp_path: Path) -> None:
    class Killed(BaseException):
        """The process is gone."""

    def dies(_place: str) -> None:
        raise Killed

    world, agent_id = prepared(tmp_path, "0.1", "0.2")
    world.runner.at = dies
    run_id = world.begin(agent_id, "hi")
    with pytest.raises(Killed):
        world.advance(run_id)
    world.runner.at = nothing
    world = world.reborn()
    world.sweep()
    assert [step.cost for step in steps_of(world, run_id)] == [Decimal("0.1"), Decimal("0.2")]
    assert world.response(run_id).usage.cost == Decimal("0.3")
    assert len(world.models.requests) == 2


def test_the_usage_of_a_run_tells_the_cost_of_its_steps_and_of_its_summaries(tmp_path: Path) -> None:
    world, run_id = ran(tmp_path, "0.25")
    run = world.run(run_id).run
    shown = RunUsage.of(run.usage)
    assert (shown.cost, shown.price_list_date) == (Decimal("0.25"), DAY)


def test_a_step_of_a_fallback_costs_what_the_fallback_costs(tmp_path: Path) -> None:
    """The agent's own model is down in the second step of three: the price of each step is that of the model which answered."""
    own = in_turn(at(calls(("ring", {"x": "1"})), "0.1"), *[ModelOverloaded("down")] * TRIES, at(says("done"), "0.3"))

    def script(request: ModelRequest, number: int) -> ModelReply:
        reply = at(calls(("ring", {"x": "2"})), "2") if request.config.handle == "test/other" else own(request, number)
        assert isinstance(reply, ModelReply)
        return reply

    world = World(data_in(tmp_path, script))
    agent_id = world.make_agent(tools=("ring",))
    agent, token = world.stores.agents.get(agent_id), world.ids.token()
    assert agent is not None
    chained = agent.model_copy(update={"fallback_models": [ModelFallback(model="test/other")], "version": agent.version + 1})
    world.stores.writer.write(*world.stores.agents.change(agent, chained, token), token=token)
    run_id = world.send(agent_id, "hi")
    steps = steps_of(world, run_id)
    priced = [("test/scripted", Decimal("0.1")), ("test/other", Decimal(2)), ("test/scripted", Decimal("0.3"))]
    assert [(step.model_handle, step.cost) for step in steps] == priced
    assert [len(step.failed_calls) for step in steps] == [0, TRIES, 0]
    assert world.response(run_id).usage.cost == Decimal("2.4")
    rows = {row.model: row.cost for row in usage_rows(steps)}
    assert rows == {"test/scripted": Decimal("0.4"), "test/other": Decimal(2)}
