"""Messages to groups: the agents take turns as the type of the group says, each turn is a run, and one log shows who spoke
(RT 9.4).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.domain.agents.group_turns import MOST_TURNS
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.schemas.access.api_key import StoredApiKey
from hibernaut.schemas.agents.group import StoredGroup
from hibernaut.schemas.agents.pause import StoredPause
from hibernaut.schemas.errors import InvalidArgument, ModelAuthentication, NotFound
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.groups import group_messages
from hibernaut.services.logs.messages import MessageQuery
from hibernaut.services.sending.sending import SendRequest
from hibernaut.store.table import keys
from tests.support.groups import (
    accept_in,
    begin_in_group,
    group_messages_of,
    groups_of,
    heard,
    lines,
    log_of,
    made_group,
    member,
    named,
    send_in,
)
from tests.support.scripted_model import calls, says
from tests.support.settled import check_settled
from tests.support.sleepers import agents_of, paired
from tests.support.team import Team, team_in, then
from tests.support.world import TENANT

HELLO = ("user_message", None, "hello")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return team_in(tmp_path)


def round_of(team: Team, **config: object) -> tuple[StoredGroup, list[str]]:
    ids = [member(team, "Ann", says("I am Ann"), says("Ann again")), member(team, "Bob", says("I am Bob"), says("Bob again"))]
    return made_group(team.world, ids, **config), ids


# round robin


def test_the_agents_answer_in_turn_and_the_log_shows_who_spoke(team: Team) -> None:
    world = team.world
    group, (ann, bob) = round_of(team)
    run_id = send_in(world, group.id, "hello")
    said = [("assistant_message", "Ann", "I am Ann"), ("assistant_message", "Bob", "I am Bob")]
    assert log_of(world, group.id) == [HELLO, *said]
    response = world.response(run_id)
    assert lines(response.messages) == said
    assert [message.sender_id for message in response.messages] == [ann, bob]
    assert response.stop_reason.stop_reason is StopReason.END_TURN
    assert heard(team, ann) == [("user", None, "hello")]
    assert heard(team, bob) == [("user", None, "hello"), ("system", "Ann", "Ann: I am Ann")]
    check_settled(world, ann, bob, group.id)


def test_an_agent_is_told_once_what_it_has_missed(team: Team) -> None:
    group, (ann, bob) = round_of(team)
    for text in ("hello", "and now?"):
        send_in(team.world, group.id, text)
    assert heard(team, ann)[1:] == [("system", "Bob", "Bob: I am Bob"), ("user", None, "and now?")]
    assert heard(team, bob)[2:] == [("user", None, "and now?"), ("system", "Ann", "Ann: Ann again")]


def test_each_turn_is_a_run_for_the_group_in_the_trace_of_the_message(team: Team) -> None:
    group, (ann, bob) = round_of(team)
    run_id = send_in(team.world, group.id, "hello")
    for agent_id in (ann, bob):
        run = team.the_run(agent_id)
        assert run.metadata is not None
        assert (run.metadata["run_type"], run.metadata["group_id"]) == ("group_turn", group.id)
        assert (run.metadata["calling_runs"], run.metadata["awaited_by"]) == ([run_id], run_id)
    assert (team.world.run(run_id).run.metadata or {})["group_id"] == group.id
    assert len({(team.the_run(one).traceparent or "")[3:35] for one in (ann, bob)}) == 1
    rows = [row for row in team.world.log(bob) if row.run_id]
    assert {row.group_id for row in rows} == {group.id}


@pytest.mark.parametrize(("most", "speakers"), [(1, ["Ann"]), (3, ["Ann", "Bob", "Ann"])])
def test_max_turns_is_the_number_of_turns(team: Team, most: int, speakers: list[str]) -> None:
    group, _ = round_of(team, max_turns=most)
    send_in(team.world, group.id, "hello")
    assert [name for _, name, _ in log_of(team.world, group.id)[1:]] == speakers


def test_no_worker_waits_for_a_turn_and_no_turn_is_taken_twice(team: Team) -> None:
    world = team.world
    group, (ann, bob) = round_of(team)
    run_id = begin_in_group(world, group.id, "hello")
    assert world.advance(run_id) == "waiting"
    state = world.run(run_id)
    assert (state.run.status, state.lease) == (RunStatus.RUNNING, 0)
    world.reborn().sweep()
    assert [len(team.runs(one)) for one in (ann, bob)] == [1, 1]
    check_settled(world, ann, bob, group.id)


def test_a_repeated_request_attaches_to_the_first_one(team: Team) -> None:
    group, _ = round_of(team)
    first = accept_in(team.world, group.id, "hello", digest="same")
    second = accept_in(team.world, group.id, "hello", digest="same")
    assert second.run_id != first.run_id or second.attached


def test_a_group_reaches_no_agent_that_the_api_key_of_the_message_does_not_reach(team: Team) -> None:
    world = team.world
    group, (ann, bob) = round_of(team)
    now, token = world.clock.now(), world.ids.token()
    fields = {"id": world.ids.new("key"), "tenant": TENANT, "scope": "write", "hint": "hib", "created_at": now, "digest": "d"}
    key = StoredApiKey.model_validate({**fields, "agent_ids": [bob]})
    world.all_stores.writer.write(*world.all_stores.api_keys.create(key, token), token=token)
    request = SendRequest(group.id, LettaRequest(input="hello"), "send_message", token, key_id=key.id)
    world.sending.start(world.sending.accept(group_messages_of(world).addressed(request)).run_id)
    world.workflow.drive()
    assert [len(team.runs(one)) for one in (ann, bob)] == [0, 1]
    assert "there is no agent" in log_of(world, group.id)[1][2]


# failures


@pytest.mark.parametrize("tells", ["fails", "paused", "deleted", "approval"])
def test_an_agent_that_cannot_answer_is_told_and_the_others_go_on(team: Team, tells: str) -> None:
    world = team.world
    ann, bob = member(team, "Ann", ModelAuthentication("bad key")), member(team, "Bob", says("I am Bob"))
    group = made_group(world, [ann, bob])
    if tells == "approval":
        ann = named(world, world.make_agent(tools=("ring",), rules=(RequiresApprovalToolRule(tool_name="ring"),)), "Ann")
        team.plays[ann] = then(calls(("ring", {"x": "1"})))
        group = made_group(world, [ann, bob])
    if tells == "paused":
        world.stores.writer.write(*world.stores.pauses.pause(ann, StoredPause(paused_at=world.clock.now())))
    run_id = begin_in_group(world, group.id, "hello")
    if tells == "deleted":
        agents_of(world).delete(ann)
    world.workflow.drive()
    (_, failure, answer) = log_of(world, group.id)
    why = {"fails": "bad key", "paused": "is paused", "deleted": "not found", "approval": "waits for the approval"}
    assert (failure[0], why[tells] in failure[2]) == ("system_message", True)
    assert answer == ("assistant_message", "Bob", "I am Bob")
    assert heard(team, bob)[1][2] == failure[2]
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN


def test_an_agent_that_waits_for_an_approval_already_is_told(team: Team) -> None:
    world = team.world
    ann = named(world, world.make_agent(tools=("ring",), rules=(RequiresApprovalToolRule(tool_name="ring"),)), "Ann")
    team.plays[ann] = then(calls(("ring", {"x": "1"})))
    world.send(ann, "ring")
    group = made_group(world, [ann, member(team, "Bob", says("I am Bob"))])
    send_in(world, group.id, "hello")
    assert "approval" in log_of(world, group.id)[1][2].lower()


def test_a_message_to_a_group_with_a_deleted_agent_is_refused_with_its_id(team: Team) -> None:
    group, (ann, _) = round_of(team)
    agents_of(team.world).delete(ann)
    with pytest.raises(NotFound, match=ann):
        send_in(team.world, group.id, "hello")
    assert team.world.stores.agents.get(group.id) is None, "nothing is half made"


def test_what_a_group_cannot_do_is_refused(team: Team) -> None:
    world = team.world
    with pytest.raises(InvalidArgument, match="no agents"):
        send_in(world, made_group(world, []).id, "hello")
    group, ids = round_of(team)
    with pytest.raises(InvalidArgument, match="client_tools"):
        send_in(world, group.id, "hello", client_tools=[{"name": "lamp"}])
    with pytest.raises(InvalidArgument, match="max_turns"):
        send_in(world, made_group(world, ids, max_turns=MOST_TURNS + 1).id, "hello")
    with pytest.raises(NotFound):
        send_in(world, "group-00000000-0000-4000-8000-000000000000", "hello")
    with pytest.raises(NotFound):
        made_group(world, [group.id])


def test_a_cancelled_message_takes_no_further_turn(team: Team) -> None:
    world = team.world
    group, (ann, bob) = round_of(team)
    run_id = begin_in_group(world, group.id, "hello")
    world.advance(run_id)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    world.workflow.drive()
    assert [len(team.runs(one)) for one in (ann, bob)] == [1, 0]
    assert [kind for kind, _, _ in log_of(world, group.id)] == ["user_message", "system_message"]
    assert send_in(world, group.id, "again")
    check_settled(world, ann, bob, group.id)


def test_a_turn_that_takes_too_long_is_told_and_the_next_one_is_taken(team: Team) -> None:
    world = team.world
    group, (ann, _) = round_of(team)
    blocked = world.accept(ann, "you first").run_id
    run_id = begin_in_group(world, group.id, "hello")
    world.workflow.drive()
    world.clock.sleep(3601)
    world.engines.sweep.run()
    world.workflow.started = type(world.workflow.started)(one for one in world.workflow.started if one.run_id != blocked)
    world.workflow.drive()
    assert world.run(run_id).ended
    _, late, answer = log_of(world, group.id)
    assert ("no reply within 3600 seconds" in late[2], answer[2]) == (True, "I am Bob")


# sleep-time groups, and the conversation itself


def test_a_message_to_a_group_of_sleep_time_agents_is_one_to_their_agent(team: Team) -> None:
    pair = paired(team.world, team.agent(says("awake"), tools=()))
    team.plays[pair.sleeper] = then(says("asleep"))
    send_in(team.world, pair.group, "hello")
    assert log_of(team.world, pair.group)[-2:] == [HELLO, ("assistant_message", None, "awake")]
    assert team.world.stores.agents.get(pair.group) is None


def test_the_conversation_of_a_group_is_no_agent(team: Team) -> None:
    world = team.world
    group, _ = round_of(team)
    before = (world.stores.agents.rows(), world.stores.agents.count(hidden=True))
    send_in(world, group.id, "hello")
    assert (world.stores.agents.rows(), world.stores.agents.count(hidden=True)) == before
    agents = agents_of(world)
    for refused in (agents.retrieve, agents.delete):
        with pytest.raises(NotFound):
            refused(group.id)


def test_a_deleted_group_leaves_nothing_and_its_agents_stay(team: Team) -> None:
    world = team.world
    group, (ann, bob) = round_of(team)
    other, _ = round_of(team)
    send_in(world, group.id, "hello")
    run_id = begin_in_group(world, group.id, "again")
    world.advance(run_id)
    world.workflow.started.remove(RunRef(TENANT, run_id))
    groups_of(world).delete(group.id)
    world.workflow.drive()
    for place in (
        keys.agent(TENANT, group.id),
        keys.head(TENANT, group.id),
        keys.run(TENANT, run_id),
        keys.gone(TENANT, group.id),
    ):
        assert world.data.table.query(place.pk) == []
    assert world.stores.agents.get(ann)
    with pytest.raises(NotFound):
        send_in(world, group.id, "hello")
    assert send_in(world, other.id, "hello")
    check_settled(world, ann, bob, other.id)


def test_a_deletion_that_was_interrupted_is_completed(team: Team) -> None:
    world = team.world
    group, _ = round_of(team)
    send_in(world, group.id, "hello")
    groups = groups_of(world)
    groups._ends.go_on = lambda _: False  # type: ignore[method-assign]
    groups.delete(group.id)
    assert world.stores.deletion.open_tombstone(group.id) is not None
    groups_of(world).delete(group.id)
    assert world.stores.deletion.open_tombstone(group.id) is None


def test_a_reset_lets_the_agents_forget_what_they_were_not_told(team: Team) -> None:
    group, (ann, _) = round_of(team)
    send_in(team.world, group.id, "hello")
    group_messages_of(team.world).reset(group.id)
    send_in(team.world, group.id, "again")
    assert heard(team, ann)[1:] == [("user", None, "again")]
    assert len(log_of(team.world, group.id)) == 6


def test_a_group_without_messages_has_an_empty_log(team: Team) -> None:
    group, _ = round_of(team)
    assert group_messages_of(team.world).page(group.id, MessageQuery()) == []
    group_messages_of(team.world).reset(group.id)


def test_a_log_that_is_longer_than_the_window_loses_its_oldest_turns_and_no_model_is_asked(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = team.world
    monkeypatch.setattr(group_messages, "NO_MODEL", group_messages.NO_MODEL.model_copy(update={"context_window": 600}))
    ann = member(team, "Ann", *(says(f"Ann {number} " + "word " * 100) for number in range(6)))
    group = made_group(world, [ann])
    for number in range(6):
        run_id = send_in(world, group.id, f"hello {number}")
        assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    assert [request.user for request in world.models.requests] == [ann] * 6
    assert len(log_of(world, group.id)) == 12
    assert [text for _, _, text in heard(team, ann)] == [f"hello {number}" for number in range(6)]
    assert len(world.stores.conversations.load(group.id, None).messages) < 12  # type: ignore[union-attr]
    check_settled(world, ann, group.id)
