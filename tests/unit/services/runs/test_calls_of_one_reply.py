"""Several calls to other agents in one reply of a model wait together (decision 47)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.domain.agents.agent_calls import AND_WAIT, AT_ONCE
from hibernaut.ports.model import ModelReply
from hibernaut.schemas.errors import ModelAuthentication
from tests.support.scripted_model import calls, says
from tests.support.settled import check_settled
from tests.support.team import Team, team_in, then


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return team_in(tmp_path)


def asks_all(*agent_ids: str, between: tuple[str, dict[str, str]] | None = None) -> ModelReply:
    made = [(AND_WAIT, {"message": "report", "other_agent_id": agent_id}) for agent_id in agent_ids]
    return calls(*(made if between is None else [made[0], between, *made[1:]]))


def test_the_agents_of_several_calls_in_one_reply_work_at_the_same_time(team: Team) -> None:
    world = team.world
    others = [team.agent(says("one")), team.agent(ModelAuthentication("bad key")), team.agent(says("three"))]
    caller = team.agent(asks_all(*others), says("done"))
    run_id = world.begin(caller, "hello")
    assert world.advance(run_id) == "waiting"
    assert [len(team.runs(one)) for one in others] == [1, 1, 1]
    world.workflow.drive()
    assert [status for status, _ in team.returned(caller)] == ["success", "error", "success"]
    assert [one.user for one in world.models.requests].count(caller) == 2
    assert [len(team.runs(one)) for one in others] == [1, 1, 1], "a repeated step sends nothing again"
    check_settled(world, caller, *others)


def test_calls_after_one_of_another_kind_are_made_when_it_has_returned(team: Team) -> None:
    world = team.world
    first, second = team.agent(says("one")), team.agent(says("two"))
    caller = world.make_agent(tools=(AND_WAIT, "ring"))
    team.plays[caller] = then(asks_all(first, second, between=("ring", {"x": "1"})), says("done"))
    run_id = world.begin(caller, "hello")
    assert world.advance(run_id) == "waiting"
    assert (len(team.runs(first)), team.runs(second), world.runner.effects) == (1, [], [])
    world.workflow.drive()
    assert (len(team.runs(second)), len(world.runner.effects)) == (1, 1)
    assert [status for status, _ in team.returned(caller)] == ["success"] * 3
    check_settled(world, caller, first, second)


def test_ten_calls_of_one_reply_wait_at_the_same_time(team: Team) -> None:
    world = team.world
    others = [team.agent(says("yes")) for _ in range(AT_ONCE + 2)]
    caller = team.agent(asks_all(*others), says("done"))
    run_id = world.begin(caller, "hello")
    assert world.advance(run_id) == "waiting"
    assert sum(len(team.runs(one)) for one in others) == AT_ONCE
    world.workflow.drive()
    assert [status for status, _ in team.returned(caller)] == ["success"] * len(others)
    check_settled(world, caller, *others)
