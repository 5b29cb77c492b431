"""The usage of a message to a group is that of its agents, which is counted once; its cancel reaches the agent whose turn it
is.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from hibernaut.domain.agents.agent_calls import TO_GROUP
from hibernaut.schemas.runs.events import UsageEvent
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from tests.support.groups import begin_in_group, made_group, member, named, send_in
from tests.support.scripted_model import calls, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable, Watched
from tests.support.team import Team, team_in, then
from tests.support.world import World

STEP = 3
"""The distance of the points at which a process dies: before and after accesses alternate, so it is odd."""


class Died(BaseException):
    """The process."""


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return team_in(tmp_path)


def two(team: Team) -> tuple[str, list[str]]:
    ids = [member(team, "Ann", says("I am Ann"), says("again")), member(team, "Bob", says("I am Bob"), says("again"))]
    return made_group(team.world, ids).id, ids


def used(told: LettaUsageStatistics) -> tuple[int, int, int, int]:
    return told.step_count, told.prompt_tokens, told.completion_tokens, told.total_tokens


def closing(world: World, run_id: str) -> LettaUsageStatistics:
    """The usage that a stream of the run ends with."""
    events = world.stores.runs.events(run_id, 0, world.clock.now())
    return next(event.usage for _, event in events if isinstance(event, UsageEvent))


def test_the_usage_of_a_message_to_a_group_is_that_of_its_agents(team: Team) -> None:
    group_id, ids = two(team)
    run_id = send_in(team.world, group_id, "hello")
    sums = (2, 20, 10, 30)
    assert used(team.world.response(run_id).usage) == sums
    assert used(closing(team.world, run_id)) == sums
    assert [team.the_run(one).usage.total_tokens for one in ids] == [15, 15]
    assert team.world.run(run_id).run.usage.total_tokens == 0, "tokens are charged where they are used, once"


def test_the_usage_of_a_supervisors_message_holds_that_of_the_agents_that_it_asked(team: Team) -> None:
    ids = [member(team, name, says("done")) for name in ("W0", "W1")]
    boss = named(team.world, team.agent(tools=()), "Boss")
    team.plays[boss] = then(calls((TO_GROUP, {"message": "report"})), says("All is well."))
    group = made_group(team.world, ids, manager_type="supervisor", manager_agent_id=boss)
    run_id = send_in(team.world, group.id, "hello")
    assert used(team.world.response(run_id).usage) == (4, 40, 20, 60)
    assert used(team.world.response(team.the_run(boss).id).usage) == (2, 20, 10, 30), "its own run tells its own"


def test_a_cancelled_message_ends_the_turn_under_way(team: Team) -> None:
    world = team.world
    group_id, (ann, bob) = two(team)
    run_id = begin_in_group(world, group_id, "hello")
    world.advance(run_id)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert [team.the_run(ann).status, team.runs(bob)] == [RunStatus.CANCELLED, []]
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    world.workflow.drive()
    check_settled(world, ann, bob, group_id)


def test_the_cancel_of_a_supervisors_message_reaches_the_agents_that_it_asked(team: Team) -> None:
    world = team.world
    ids = [member(team, name, says("done")) for name in ("W0", "W1")]
    boss = named(world, team.agent(tools=()), "Boss")
    team.plays[boss] = then(calls((TO_GROUP, {"message": "report"})), says("All is well."))
    group = made_group(world, ids, manager_type="supervisor", manager_agent_id=boss)
    run_id = begin_in_group(world, group.id, "hello")
    world.advance(run_id)
    world.advance(team.the_run(boss).id)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert {team.the_run(one).status for one in (boss, *ids)} == {RunStatus.CANCELLED}
    world.workflow.drive()
    check_settled(world, boss, *ids, group.id)


def test_what_agents_have_used_until_the_cancel_is_told(team: Team) -> None:
    world = team.world
    group_id, (ann, bob) = two(team)
    run_id = begin_in_group(world, group_id, "hello")
    world.advance(run_id)
    world.advance(team.the_run(ann).id)
    assert [world.advance(run_id), world.advance(run_id)] == ["advance", "waiting"]
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert used(world.response(run_id).usage) == (1, 10, 5, 15)
    assert team.the_run(bob).status is RunStatus.CANCELLED


def test_the_cancel_reaches_the_agent_wherever_the_process_dies(tmp_path: Path) -> None:
    for place in count(1, STEP):
        team = team_in(tmp_path / str(place))
        group_id, (ann, bob) = two(team)
        run_id = begin_in_group(team.world, group_id, "hello")
        team.world.advance(run_id)

        def on_call(number: int, kind: str, last: int = place) -> None:
            del kind
            if number == last:
                raise Died

        try:
            World(replace(team.world.data, table=CountingTable(team.world.data.table, on_call))).chain.termination.end(
                run_id, StopReason.CANCELLED
            )
        except Died:
            world = team.world = World(team.world.data, holder="host:2")
            cancelled = world.run(run_id).ended
            world.sweep()
            assert (team.the_run(ann).status is RunStatus.CANCELLED, bool(team.runs(bob))) == (cancelled, not cancelled)
            check_settled(world, ann, bob, group_id)
            continue
        break
    assert place > 5 * STEP


def test_a_turn_that_is_being_accepted_when_the_message_is_cancelled_is_cancelled_too(tmp_path: Path) -> None:
    for write in count():
        team = team_in(tmp_path / str(write))
        group_id, (ann, bob) = two(team)
        run_id = begin_in_group(team.world, group_id, "hello")
        table = Watched(team.world.data.table)
        table.at, table.act = write, lambda one=team, run=run_id: one.world.chain.termination.end(run, StopReason.CANCELLED)
        World(replace(team.world.data, table=table), workflow=team.world.workflow).advance(run_id)
        if table.writes <= write:
            break
        team.world.sweep()
        assert {state.run.status for state in team.runs(ann)} <= {RunStatus.CANCELLED}, f"cancelled before write {write}"
        assert team.runs(bob) == []
        check_settled(team.world, ann, bob, group_id)
    assert write > 3
