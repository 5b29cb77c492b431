"""Agents send each other messages: once each, as ordinary runs, within limits, and never in a circle (RT 5.6)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from hibernaut.domain.agents.agent_calls import AT_ONCE, MATCHING_TAGS, MOST_AGENTS, MOST_CALLERS, MOST_SENT
from hibernaut.domain.wire.listing import Page
from hibernaut.ports.model import ModelReply
from hibernaut.ports.storage.table import Change, Table, Update
from hibernaut.schemas.access.api_key import NO_AGENT, StoredApiKey
from hibernaut.schemas.agents.pause import StoredPause
from hibernaut.schemas.errors import ModelAuthentication
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.sending.sending import SendRequest
from hibernaut.services.sending.tagged_agents import TaggedAgents
from hibernaut.services.tool_calls.tool_execution import INTERRUPTED
from hibernaut.store.table import keys
from tests.support.house import house_in
from tests.support.scripted_model import calls, says
from tests.support.settled import check_settled
from tests.support.sleepers import agents_of
from tests.support.tables import PassesOn
from tests.support.team import Team, asks, team_in, then, writes
from tests.support.world import TENANT

REPLY_SECONDS = 3600


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return team_in(tmp_path)


def by_tags(match_all: list[str], match_some: list[str]) -> ModelReply:
    return calls((MATCHING_TAGS, {"message": "report", "match_all": match_all, "match_some": match_some}))


# one way


def test_a_message_is_a_run_of_the_other_agent_and_the_sender_goes_on(team: Team) -> None:
    other = team.agent(says("fine"))
    sender = team.agent(writes(other, "Look at This"), says("done"))
    run_id = team.world.send(sender, "hello")
    assert team.returned(sender) == [("success", "Successfully sent message")]
    (text,) = team.got(other)
    assert text.startswith(f"[Incoming message from agent with ID '{sender}' - one-way")
    assert text.endswith("] Look at This")
    run = team.the_run(other)
    assert run.metadata == {"run_type": "agent_message", "calling_runs": [run_id], "calling_agent": sender}
    assert (run.status, run.background) == (RunStatus.COMPLETED, True)
    check_settled(team.world, sender, other)


def test_all_runs_of_a_chain_of_messages_are_in_one_trace(team: Team) -> None:
    last = team.agent(says("fine"))
    middle = team.agent(writes(last), says("passed on"))
    first = team.agent(writes(middle), says("done"))
    run_id = team.world.send(first, "hello", traceparent=f"00-{'a' * 32}-{'b' * 16}-01")
    chain = team.the_run(last).metadata or {}
    assert chain["calling_runs"] == [run_id, team.the_run(middle).id]
    assert {(team.the_run(one).traceparent or "")[3:35] for one in (first, middle, last)} == {"a" * 32}


@pytest.mark.parametrize("call", [asks, writes])
def test_who_is_not_there_gets_no_message(team: Team, call: Callable[[str], ModelReply]) -> None:
    world = team.world
    foreign = "agent-00000000-0000-4000-8000-000000000000"
    sender = team.agent()
    for agent_id, why in (
        (foreign, "there is no agent"),
        ("nobody", "there is no agent"),
        (sender, "your own id"),
        ("", "must be a text"),
    ):
        team.plays[sender] = then(call(agent_id), says("done"))
        world.send(sender, f"write to {agent_id}")
        status, text = team.returned(sender)[-1]
        assert (status, why in text, "Nothing was sent" in text) == ("error", True, True)
    assert len(team.runs(sender)) == 4


@pytest.mark.parametrize("call", [asks, writes])
def test_an_agent_that_is_paused_refuses_the_message_and_the_caller_goes_on(
    team: Team, call: Callable[[str], ModelReply]
) -> None:
    world = team.world
    other = team.agent()
    sender = team.agent(call(other), says("done"))
    world.stores.writer.write(*world.stores.pauses.pause(other, StoredPause(paused_at=world.clock.now())))
    run_id = world.send(sender, "hello")
    ((status, text),) = team.returned(sender)
    assert (status, "is paused" in text) == ("error", True)
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN


# waiting


def test_the_reply_is_the_return_and_nobody_works_while_it_is_awaited(team: Team) -> None:
    world = team.world
    other = team.agent(says("It is four."))
    caller = team.agent(asks(other, "two and two?"), says("done"))
    run_id = world.begin(caller, "hello")
    assert world.advance(run_id) == "waiting"
    state = world.run(run_id)
    assert (state.run.status, state.lease, state.run.steps) == (RunStatus.RUNNING, 0, 0)
    places = [item for page in world.all_stores.due.pages(None, 9) for shard in page for item in shard]
    due = {item.key: item.due_ms for item in places}[keys.run(TENANT, run_id)]
    assert due == int(world.clock.now().timestamp() * 1000) + REPLY_SECONDS * 1000
    world.engines.sweep.run()
    assert len(world.models.requests) == 1
    world.clock.sleep(100)
    world.workflow.drive()
    assert team.returned(caller) == [("success", str({"agent_id": other, "response": ["It is four."]}))]
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    assert team.got(other) == [
        f"[Incoming message from agent with ID '{caller}' - your response will be delivered to the sender] two and two?"
    ]
    assert [one.user for one in world.models.requests] == [caller, other, caller]
    first, _ = world.stores.steps.of_run(run_id)
    assert (first.tool_execution_ns or 0) >= 100e9
    check_settled(world, caller, other)


def test_a_follower_sees_one_run_from_the_call_to_the_answer(team: Team) -> None:
    other = team.agent(says("four"))
    caller = team.agent(asks(other), says("It says four."))
    run_id = team.world.begin(caller, "hello")
    team.world.advance(run_id)
    assert team.world.run_follower.response(run_id) is None
    team.world.workflow.drive()
    reply = team.world.response(run_id)
    kinds = [message.message_type for message in reply.messages]
    assert kinds == ["tool_call_message", "tool_return_message", "assistant_message"]
    assert (reply.stop_reason.stop_reason, reply.usage.step_count) == (StopReason.END_TURN, 2)


def test_a_busy_agent_answers_later(team: Team) -> None:
    world = team.world
    other = team.agent(says("later"))
    caller = team.agent(asks(other), says("done"))
    first = world.accept(other, "you first").run_id
    run_id = world.begin(caller, "hello")
    world.workflow.drive()
    assert [state.run.status for state in team.runs(other)] == [RunStatus.RUNNING, RunStatus.CREATED]
    world.sending.start(first)
    world.workflow.drive()
    assert team.returned(caller) == [("success", str({"agent_id": other, "response": ["later"]}))]
    assert world.run(run_id).ended


@pytest.mark.parametrize(
    ("reply", "returned"),
    [(says(""), ("success", "<no response>")), (ModelAuthentication("bad key"), ("error", "bad key"))],
)
def test_an_agent_that_says_nothing_or_fails_is_told(team: Team, reply: object, returned: tuple[str, str]) -> None:
    other = team.agent(reply)  # type: ignore[arg-type]
    caller = team.agent(asks(other), says("done"))
    team.world.send(caller, "hello")
    ((status, text),) = team.returned(caller)
    assert (status, returned[1] in text) == (returned[0], True)
    check_settled(team.world, caller, other)


def test_a_reply_that_does_not_come_in_time_is_missing_and_may_come_later(team: Team) -> None:
    world = team.world
    other = team.agent(says("at last"))
    caller = team.agent(asks(other), says("done"))
    blocked = world.accept(other, "you first").run_id
    run_id = world.begin(caller, "hello")
    world.workflow.drive()
    world.clock.sleep(REPLY_SECONDS - 1)
    world.engines.sweep.run()
    world.workflow.started.clear()  # the sweep starts the run that nobody works at, and not the waiting one
    assert not world.run(run_id).ended
    world.clock.sleep(2)
    world.engines.sweep.run()
    world.workflow.started = type(world.workflow.started)(one for one in world.workflow.started if one.run_id == run_id)
    world.workflow.drive()
    assert team.returned(caller) == [("error", "no reply within 3600 seconds; the message stays delivered")]
    world.sending.start(blocked)
    world.workflow.drive()
    assert [state.run.status for state in team.runs(other)] == [RunStatus.COMPLETED] * 2
    check_settled(world, caller, other)


def test_a_cancelled_caller_waits_no_more_and_the_other_goes_on(team: Team) -> None:
    world = team.world
    other = team.agent(says("too late"))
    caller = team.agent(asks(other), says("done"))
    run_id = world.begin(caller, "hello")
    world.advance(run_id)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert team.returned(caller) == [("error", INTERRUPTED)]
    world.workflow.drive()
    assert team.the_run(other).status is RunStatus.COMPLETED
    check_settled(world, caller, other)


def test_a_called_run_that_is_cancelled_ends_the_wait(team: Team) -> None:
    world = team.world
    other = team.agent(says("never"))
    caller = team.agent(asks(other), says("done"))
    run_id = world.begin(caller, "hello")
    world.advance(run_id)
    world.workflow.started.clear()
    world.chain.termination.end(team.the_run(other).id, StopReason.CANCELLED)
    world.workflow.drive()
    assert team.returned(caller) == [("error", "the other agent's run was cancelled")]
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    check_settled(world, caller, other)


def test_an_agent_that_is_deleted_meanwhile_ends_the_wait_or_answers_nobody(team: Team) -> None:
    world = team.world
    asked, caller = team.agent(says("never")), team.agent()
    team.plays[caller] = then(asks(asked), says("done"))
    run_id = world.begin(caller, "hello")
    world.advance(run_id)
    world.workflow.started.clear()
    agents_of(world).delete(asked)
    world.workflow.drive()
    ((status, text),) = team.returned(caller)
    assert (status, "was cancelled" in text or "was deleted" in text) == ("error", True)
    other = team.agent(says("to nobody"))
    team.plays[caller] = then(asks(other), says("done"))
    world.advance(world.accept(caller, "again").run_id)
    agents_of(world).delete(caller)
    world.workflow.drive()
    check_settled(world, other)


class EndsBeforeTheWait(PassesOn):
    """A table that executes `by` once, immediately before a run begins to wait for replies."""

    by: Callable[[], None] | None = None

    def write(self, *changes: Change) -> None:
        waits = any(isinstance(one, Update) and str(one.set.get("wt", "")).endswith(".replies") for one in changes)
        by, self.by = (self.by, None) if waits else (None, self.by)
        if by is not None:
            by()
        super().write(*changes)


def test_a_reply_that_comes_when_its_caller_is_about_to_wait_is_not_missed(tmp_path: Path) -> None:
    tables: list[EndsBeforeTheWait] = []

    def wrapped(table: Table) -> Table:
        tables.append(EndsBeforeTheWait(table))
        return tables[-1]

    team = team_in(tmp_path, wrap=wrapped)
    other = team.agent(says("quick"))
    caller = team.agent(asks(other), says("done"))
    run_id = team.world.begin(caller, "hello")
    team.world.workflow.started.clear()
    tables[0].by = team.world.workflow.drive
    assert team.world.advance(run_id) == "advance"
    assert team.returned(caller) == [("success", str({"agent_id": other, "response": ["quick"]}))]


def restricted(caller: str, near: str, _: str) -> dict[str, object]:
    return {"agent_ids": [caller, near]}


def for_pages(_: str, near: str, far: str) -> dict[str, object]:
    """A client-side access token that may write to one of the agents, and only read of the other one."""
    policy = [{"id": near, "access": ["write_messages"]}, {"id": far, "access": ["read_messages"]}]
    return {"agent_ids": [NO_AGENT], "kind": "client", "page_access": {"hostname": "https://a.example", "data": policy}}


@pytest.mark.parametrize("rights", [restricted, for_pages])
def test_a_restricted_key_reaches_no_further_agent(team: Team, rights: Callable[[str, str, str], dict[str, object]]) -> None:
    world = team.world
    near, far = team.agent(says("near"), tags=("all",)), team.agent(says("far"), tags=("all",))
    caller = team.agent(asks(near), asks(far), by_tags(["all"], []), says("done"))
    now, token = world.clock.now(), world.ids.token()
    fields = {"id": world.ids.new("key"), "tenant": TENANT, "scope": "write", "hint": "hib", "created_at": now, "digest": "d"}
    key = StoredApiKey.model_validate({**fields, **rights(caller, near, far)})
    world.all_stores.writer.write(*world.all_stores.api_keys.create(key, token), token=token)
    accepted = world.sending.accept(SendRequest(caller, LettaRequest(input="hello"), "send_message", token, key_id=key.id))
    world.sending.start(accepted.run_id)
    world.workflow.drive()
    (_, first), (status, second), (_, third) = team.returned(caller)
    assert "near" in first
    assert (status, "there is no agent" in second) == ("error", True)
    assert [reply["agent_id"] for reply in ast.literal_eval(third)] == [near]
    assert team.runs(far) == []
    assert team.runs(near)[0].run.key_id == key.id


# circles


def test_agents_that_wait_for_each_other_in_a_ring_are_told_where_it_would_close(team: Team) -> None:
    ring = [team.agent() for _ in range(3)]
    for place, agent_id in enumerate(ring):
        team.plays[agent_id] = then(asks(ring[(place + 1) % 3]), says(f"said {place}"))
    team.world.send(ring[0], "hello")
    ((status, text),) = team.returned(ring[2])
    assert (status, "waits for you already" in text) == ("error", True)
    assert team.returned(ring[0]) == [("success", str({"agent_id": ring[1], "response": ["said 1"]}))]
    check_settled(team.world, *ring)


def test_two_requests_that_cross_do_not_wait_for_each_other(team: Team) -> None:
    world = team.world
    one, two = team.agent(), team.agent()
    team.plays[one], team.plays[two] = then(asks(two), says("one")), then(asks(one), says("two"))
    runs = [world.begin(one, "hello"), world.begin(two, "hello")]
    world.workflow.drive()
    assert all(world.run(run_id).run.stop_reason is StopReason.END_TURN for run_id in runs)
    told = [status for agent_id in (one, two) for status, _ in team.returned(agent_id)]
    assert "error" in told
    check_settled(world, one, two)


# limits


def test_a_chain_of_callers_has_an_end(team: Team) -> None:
    chain = [team.agent() for _ in range(MOST_CALLERS + 2)]
    for here, there in pairwise(chain):
        team.plays[here] = then(asks(there), says("done"))
    team.world.send(chain[0], "hello")
    ((status, text),) = team.returned(chain[MOST_CALLERS])
    assert (status, f"at most {MOST_CALLERS}" in text) == ("error", True)
    assert team.runs(chain[-1]) == []


def test_one_request_leads_to_a_bounded_number_of_messages(team: Team) -> None:
    world = team.world
    other = team.agent()
    caller = team.agent(writes(other), writes(other), says("done"))
    run_id = world.begin(caller, "hello")
    world.stores.writer.write(Update(keys.run(TENANT, run_id), add={"sent": MOST_SENT - 1}))
    world.workflow.drive()
    assert [status for status, _ in team.returned(caller)] == ["success", "error"]
    assert len(team.runs(other)) == 1


# by tags


def test_agents_with_the_tags_answer_ten_at_a_time_and_failures_are_told(team: Team) -> None:
    world = team.world
    workers = [team.agent(says(f"worker {number}"), tags=("work", f"team {number % 2}"), tools=()) for number in range(50)]
    team.plays[workers[3]] = then(ModelAuthentication("bad key"))
    team.agent(tags=("work",))
    boss = team.agent(by_tags(["work"], ["team 0", "team 1"]), says("done"), tags=("work", "team 0"))
    run_id = world.begin(boss, "hello")
    world.advance(run_id)
    assert sum(len(team.runs(agent_id)) for agent_id in workers) == AT_ONCE
    world.workflow.drive()
    ((status, text),) = team.returned(boss)
    replies = ast.literal_eval(text)
    assert (status, [reply["agent_id"] for reply in replies]) == ("success", workers)
    failed = replies.pop(3)
    assert failed["response"][0].startswith("<error: ")
    assert [reply["response"] for reply in replies] == [[f"worker {number}"] for number in range(50) if number != 3]
    chains = {str((team.the_run(agent_id).metadata or {})["calling_runs"]) for agent_id in workers}
    traces = {(team.the_run(agent_id).traceparent or "")[3:35] for agent_id in workers}
    assert (chains, len(traces)) == ({str([run_id])}, 1)
    check_settled(world, boss, *workers)


def test_no_agent_with_the_tags_is_an_empty_list_and_too_many_are_refused(team: Team) -> None:
    boss = team.agent(by_tags(["nobody"], []), says("done"))
    team.world.send(boss, "hello")
    assert team.returned(boss) == [("success", "[]")]
    for _ in range(MOST_AGENTS + 1):
        team.agent(tags=("crowd",), tools=())
    team.plays[boss] = then(by_tags([], ["crowd"]), says("done"))
    team.world.send(boss, "and now")
    status, text = team.returned(boss)[-1]
    assert (status, f"more than {MOST_AGENTS} agents" in text) == ("error", True)


def test_the_tag_search_reads_marks_where_they_are_complete(tmp_path: Path) -> None:
    with house_in(tmp_path) as house:
        both = house.agent(name="both", tags=["red", "round"])
        house.agent(name="red", tags=["red"])
        house.agent(name="hidden", tags=["red", "round"], hidden=True)
        tagged = TaggedAgents(house.stores)
        for _ in range(2):
            assert tagged.ids(["red", "round"], [], most=9) == [both.id]
            assert len(tagged.ids(["red"], ["round", "square"], most=9)) == 1
            assert len(tagged.ids([], ["red"], most=9)) == 2
            assert len(tagged.ids([], [], most=1)) == 1
            house.services.agents.tags(None, Page())  # The first list by marks builds them.
