"""Groups with a manager: one that names the speakers, and one that asks the others (RT 9.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.domain.agents.agent_calls import AT_ONCE, TO_GROUP
from hibernaut.domain.agents.group_turns import NOBODY
from hibernaut.schemas.agents.group import StoredGroup
from hibernaut.schemas.errors import ModelAuthentication
from hibernaut.schemas.stop import StopReason
from tests.support.groups import begin_in_group, heard, lines, log_of, made_group, member, named, send_in
from tests.support.scripted_model import calls, says
from tests.support.settled import check_settled
from tests.support.team import Reply, Team, team_in, then


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return team_in(tmp_path)


# dynamic


def led(team: Team, *choices: str, **config: object) -> tuple[StoredGroup, str]:
    lead = member(team, "Lead", *(says(text) for text in choices))
    ids = [member(team, "Ann", says("I am Ann"), says("Ann again")), member(team, "Bob", says("I am Bob"))]
    return made_group(team.world, ids, manager_type="dynamic", manager_agent_id=lead, **config), lead


def test_the_manager_names_each_speaker_until_it_says_the_token(team: Team) -> None:
    group, lead = led(team, "Bob", "Let us hear Ann.", "DONE!", max_turns=9)
    run_id = send_in(team.world, group.id, "hello")
    assert [name for _, name, _ in log_of(team.world, group.id)[1:]] == ["Bob", "Ann"]
    assert team.world.run(run_id).run.stop_reason is StopReason.END_TURN
    told = heard(team, lead)
    assert told[0] == ("user", None, "hello")
    assert ("Ann, Bob" in told[1][2], "DONE!" in told[1][2]) == (True, True)
    assert told[2] == ("system", "Bob", "Bob: I am Bob")


def test_the_turns_of_a_dynamic_group_are_as_many_as_its_agents_if_no_number_is_set(team: Team) -> None:
    group, _ = led(team, "Ann", "Ann")
    send_in(team.world, group.id, "hello")
    assert [name for _, name, _ in log_of(team.world, group.id)[1:]] == ["Ann", "Ann"]


def test_a_manager_that_names_nobody_is_asked_once_more(team: Team) -> None:
    group, _ = led(team, "Hm.", "Ann", "Hm.", "Hm.", max_turns=3)
    send_in(team.world, group.id, "hello")
    assert log_of(team.world, group.id)[1:] == [("assistant_message", "Ann", "I am Ann"), ("system_message", None, NOBODY)]


def test_a_manager_that_fails_is_told(team: Team) -> None:
    lead = member(team, "Lead", ModelAuthentication("bad key"))
    group = made_group(team.world, [member(team, "Ann")], manager_type="dynamic", manager_agent_id=lead)
    send_in(team.world, group.id, "hello")
    assert "Lead could not answer: " in log_of(team.world, group.id)[1][2]


# supervisor


def supervised(team: Team, workers: int, **replies: Reply) -> tuple[StoredGroup, list[str], str]:
    """A supervisor that asks all workers once. `replies`: by the name of a worker."""
    world = team.world
    ids = [member(team, f"W{place}", replies.get(f"W{place}", says(f"part {place}"))) for place in range(workers)]
    boss = named(world, team.agent(tools=()), "Boss")
    team.plays[boss] = then(calls((TO_GROUP, {"message": "report"})), says("All is well."))
    return made_group(world, ids, manager_type="supervisor", manager_agent_id=boss), ids, boss


def test_the_supervisor_asks_the_agents_and_the_log_shows_their_replies_and_its_answer(team: Team) -> None:
    group, ids, boss = supervised(team, 2)
    run_id = send_in(team.world, group.id, "hello")
    said = [("W0", "part 0"), ("W1", "part 1"), ("Boss", "All is well.")]
    assert [(name, text) for _, name, text in log_of(team.world, group.id)[1:]] == said
    assert lines(team.world.response(run_id).messages) == [("assistant_message", *one) for one in said]
    assert TO_GROUP in heard(team, boss)[0][2]
    assert team.the_run(ids[0]).metadata == {
        "run_type": "group_turn",
        "calling_runs": [run_id, team.the_run(boss).id],
        "calling_agent": boss,
        "group_id": group.id,
        "awaited_by": team.the_run(boss).id,
    }
    team.world.send(boss, "and you alone?")
    assert "no tool" in team.returned(boss)[-1][1].lower() or team.returned(boss)[-1][0] == "error", (
        "it has the tool in the group only"
    )


def test_a_supervisor_over_fifty_agents_has_ten_of_them_at_work_and_is_told_who_failed(team: Team) -> None:
    world = team.world
    failing: dict[str, Reply] = {f"W{place}": ModelAuthentication("bad key") for place in (7, 30)}
    group, ids, boss = supervised(team, 50, **failing)
    run_id = begin_in_group(world, group.id, "hello")
    most = 0
    while world.workflow.started:
        open_now = sum(not state.ended for agent_id in ids for state in team.runs(agent_id))
        most = max(most, open_now)
        one = world.workflow.started.popleft()
        world.workflow._follow(one)
    assert most == AT_ONCE
    said = log_of(world, group.id)[1:]
    assert [name for _, name, _ in said] == [*(f"W{place}" for place in range(50)), "Boss"]
    assert [name for kind, name, _ in said if kind == "system_message"] == ["W7", "W30"]
    assert len({(team.the_run(one).traceparent or "")[3:35] for one in (*ids, boss)}) == 1
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    check_settled(world, group.id, boss, *ids)
