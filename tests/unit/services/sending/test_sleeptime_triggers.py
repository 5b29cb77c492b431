"""When sleep-time agents work, and what they are told: no turn twice, and none lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.domain.window.sleeptime_transcripts import LONGEST
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.agents.agent import UpdateAgent
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.agents.group import GroupCreate, GroupUpdate, SleeptimeChanges, SleeptimeSettings
from hibernaut.schemas.agents.pause import PauseAgent
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.agents.agent_pauses import AgentPauses
from hibernaut.services.sending.sleeptime_triggers import RUN_TYPE
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from tests.support.conversations import begin_in, conversations_of, records_of
from tests.support.groups import groups_of
from tests.support.scripted_model import calls, in_turn, says
from tests.support.sleepers import Pair, agents_of, agrees, both, finishes, group_in, pair_in, paired, transcripts
from tests.support.tables import CountingTable
from tests.support.world import World, data_in


def world_in(folder: Path, **model: object) -> World:
    return World(data_in(folder, both(finishes, agrees), **model))


def said(text: str) -> list[str]:
    """The lines of a transcript."""
    return [line for line in text.splitlines() if line.startswith(("user: ", "assistant: "))]


@pytest.mark.parametrize(("every", "worked"), [(5, [1, 6]), (2, [1, 3, 5]), (1, [1, 2, 3, 4, 5, 6]), (0, [])])
def test_the_first_turn_and_every_nth_after_it_set_the_sleeper_to_work(tmp_path: Path, every: int, worked: list[int]) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=every)
    found = [number for number in range(1, 7) if world.response(world.send(pair.main, f"turn {number}")).usage.run_ids]
    assert found == worked
    assert group_in(world, pair).turns_counter == (-1 if not every else (6 - 1) % every)


def test_a_group_without_a_frequency_works_after_every_turn(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world)
    group = group_in(world, pair)
    after = group.model_copy(update={"sleeptime_agent_frequency": None})
    world.stores.writer.write(*world.stores.groups.change(group, after, "t"))
    assert all(world.response(world.send(pair.main, "turn")).usage.run_ids for _ in range(3))
    assert group_in(world, pair).turns_counter == -1


def test_the_run_says_why_it_is_and_the_reply_names_it(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world)
    (run_id,) = world.response(world.send(pair.main, "hello")).usage.run_ids or ()
    run = world.run(run_id).run
    assert (run.agent_id, run.background, run.stop_reason) == (pair.sleeper, True, StopReason.TOOL_RULE)
    assert run.metadata == {
        "run_type": RUN_TYPE,
        "agent_id": pair.sleeper,
        "group_id": pair.group,
        "trigger": "turns",
        "reason": f"turn 1 of {pair.main} has ended",
        "conversations": [pair.main],
    }
    assert [line for text in transcripts(world, pair) for line in said(text)] == ["user: hello", "assistant: Yes."]
    newest = [row.id for row in world.log(pair.main)][-1]
    assert group_in(world, pair).last_processed_message_id == newest


def test_the_sleeper_is_told_everything_since_it_last_worked(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=3)
    for number in range(1, 5):
        world.send(pair.main, f"turn {number}")
    first, second = (said(text) for text in transcripts(world, pair))
    assert first == ["user: turn 1", "assistant: Yes."]
    assert second == [line for number in (2, 3, 4) for line in (f"user: turn {number}", "assistant: Yes.")]


def test_calls_are_told_by_name_and_returns_are_left_out(tmp_path: Path) -> None:
    awake = in_turn(
        calls(("conversation_search", {"query": "cats"}), text="Let me look."),
        calls(("send_message", {"message": "None."})),
        says("Bye."),
    )
    world = World(data_in(tmp_path, both(finishes, awake)))
    pair = pair_in(world)
    world.send(pair.main, "any\nassistant: cats?")
    (text,) = transcripts(world, pair)
    lines = said(text)
    assert lines[:3] == ["user: any", "assistant: Let me look.", "assistant: Calling tool conversation_search"]
    assert "assistant: None." in lines
    assert "  assistant: cats?" in text, "nobody else's words look like a line"


def test_a_reply_that_asks_for_an_approval_is_a_turn(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, both(finishes, in_turn(calls(("ring", {"x": "1"})), says("Rung.")))))
    agent = world.make_agent(blocks={"human": ""}, tools=("ring",), rules=(RequiresApprovalToolRule(tool_name="ring"),))
    pair = paired(world, agent, every=1)
    run_id = world.send(agent, "please ring")
    assert world.run(run_id).run.stop_reason is StopReason.REQUIRES_APPROVAL
    call = world.stores.approvals.get(run_id)
    assert call is not None
    world.answer(agent, {"type": "approval", "tool_call_id": call.record.calls[0].id, "approve": True})
    world.workflow.drive()
    assert [said(text) for text in transcripts(world, pair)] == [
        ["user: please ring", "assistant: Calling tool ring"],
        ["assistant: Rung."],
    ]


@pytest.mark.parametrize("count", [1, 2 * INPUT_PAGE])
def test_an_approved_call_whose_run_is_cancelled_is_a_turn_however_much_was_sent_with_the_answer(
    tmp_path: Path, count: int
) -> None:
    world = World(data_in(tmp_path, both(finishes, in_turn(calls(("ring", {"x": "1"})), says("Rung.")))))
    agent = world.make_agent(blocks={"human": ""}, tools=("ring",), rules=(RequiresApprovalToolRule(tool_name="ring"),))
    pair = paired(world, agent, every=0)
    call = world.stores.approvals.get(world.send(agent, "please ring"))
    assert call is not None
    texts = [f"line {number}" for number in range(count)]
    answer = {"type": "approval", "tool_call_id": call.record.calls[0].id, "approve": True}
    run_id = world.answer(agent, answer, texts=texts).run_id
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert group_in(world, pair).turns == 2


def test_an_agent_gets_a_sleeper_later_which_is_told_the_newest_of_what_was_before(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent(blocks={"human": ""})
    for number in range(30):
        world.send(agent, f"before {number}")
    pair = paired(world, agent)
    world.send(agent, "after")
    lines = said(transcripts(world, pair)[0])
    assert (lines[0], lines[-2:], len(lines)) == ("user: before 5", ["user: after", "assistant: Yes."], 52)


def test_turns_of_all_conversations_are_told(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=2)
    world.send(pair.main, "one")
    other = conversations_of(world).openings.create(pair.main, CreateConversation()).id
    begin_in(world, pair.main, other, "two")
    world.workflow.drive()
    world.send(pair.main, "three")
    last = transcripts(world, pair)[-1]
    assert said(last) == ["user: three", "assistant: Yes.", "user: two", "assistant: Yes."]
    assert f"in the conversation {other}:" in last


def test_a_deleted_conversation_is_not_told(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=0)
    other = conversations_of(world).openings.create(pair.main, CreateConversation()).id
    begin_in(world, pair.main, other, "secret")
    world.workflow.drive()
    conversations_of(world).delete(other)
    assert world.chain.sleeptime.start(pair.group, "night 1") == []
    world.send(pair.main, "one")
    world.chain.sleeptime.start(pair.group, "night 2")
    world.workflow.drive()
    assert [said(text) for text in transcripts(world, pair)] == [["user: one", "assistant: Yes."]]
    assert world.all_stores.due.all() == []


def test_two_conversations_that_end_a_turn_at_once_are_both_counted(tmp_path: Path) -> None:
    others: list[str] = []

    def meanwhile(_number: int, call: str) -> None:
        if call == "before write" and others and asked:
            world.advance(others.pop())

    asked: list[str] = []
    data = data_in(tmp_path, both(finishes, agrees), at=asked.append)
    world = World(data, wrap=lambda table: CountingTable(table, meanwhile))
    pair = pair_in(world, every=2)
    other = conversations_of(world).openings.create(pair.main, CreateConversation()).id
    second, first = begin_in(world, pair.main, other, "two"), world.begin(pair.main, "one")
    asked.clear()
    others.append(second)
    assert world.advance(first) == "finished", "it was counted anew behind the other one"
    world.workflow.drive()
    group = group_in(world, pair)
    assert (group.turns, group.turns_counter, len(transcripts(world, pair))) == (2, 1, 1)
    world.send(pair.main, "three")
    told = [line for text in transcripts(world, pair) for line in said(text) if line.startswith("user")]
    assert sorted(told) == ["user: one", "user: three", "user: two"]


def test_a_counted_turn_costs_one_read_and_no_transaction_more(tmp_path: Path) -> None:
    made: list[str] = []

    def noted(_number: int, call: str) -> None:
        if call.startswith("before "):
            made.append(call)

    world = World(data_in(tmp_path, both(finishes, agrees)), wrap=lambda table: CountingTable(table, noted))
    pair = pair_in(world)

    def calls_of(text: str) -> list[str]:
        made.clear()
        world.send(pair.main, text)
        return sorted(made)

    world.send(pair.main, "the first turn sets the sleeper to work")
    counted = calls_of("counted")
    agents_of(world).updates.update(pair.main, UpdateAgent(enable_sleeptime=False))
    world.send(pair.main, "tells the model of what has changed")
    assert counted == sorted([*calls_of("plain"), "before get"])


def test_a_cancelled_turns_message_is_told_with_the_next_one(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=1)
    world.send(pair.main, "one")
    lost = world.begin(pair.main, "never answered")
    world.chain.termination.end(lost, StopReason.CANCELLED)
    world.workflow.drive()
    world.send(pair.main, "two")
    assert said(transcripts(world, pair)[-1]) == ["user: never answered", "user: two", "assistant: Yes."]


def test_a_long_transcript_is_told_in_parts(tmp_path: Path) -> None:
    world = world_in(tmp_path, context_window=8000)
    pair = pair_in(world, every=10)
    for number in range(11):
        world.send(pair.main, f"turn {number} " + "x" * 1500)
    texts = transcripts(world, pair)
    numbers = [line.split()[2] for text in texts for line in said(text) if line.startswith("user")]
    assert numbers == [str(number) for number in range(11)]
    assert len(texts) == 3
    assert max(map(len, texts)) < 8000 + 1000
    assert max(map(len, texts)) < LONGEST
    world.send(pair.main, "y" * 20_000)
    assert group_in(world, pair).turns == 12


def test_an_idle_time_that_ends_sets_the_sleeper_to_work_once(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=0, idle=1200)
    world.send(pair.main, "one")
    world.clock.sleep(1000)
    world.send(pair.main, "two")
    world.clock.sleep(1000.0)
    world.sweep()
    assert transcripts(world, pair) == [], "the second turn has moved it"
    world.clock.sleep(300.0)
    for _ in range(2):
        world.sweep()
    (text,) = transcripts(world, pair)
    assert said(text) == ["user: one", "assistant: Yes.", "user: two", "assistant: Yes."]
    run = world.run(next(iter(world.log(pair.sleeper)[-1:])).run_id or "").run
    assert (run.metadata or {})["trigger"] == "idle"


def test_an_idle_time_that_is_set_later_begins_then(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=0)
    world.send(pair.main, "one")
    groups = groups_of(world)
    for seconds, told in ((60, 0), (0, 0), (60, 1)):
        groups.update(pair.group, GroupUpdate(manager_config=SleeptimeChanges(sleeptime_idle_seconds=seconds)))
        world.sweep()
        assert transcripts(world, pair) == []
        world.clock.sleep(61 if told or not seconds else 30)
        world.sweep()
        assert len(transcripts(world, pair)) == told


def test_what_is_due_for_a_deleted_group_is_dropped(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=1)
    world.chain.sleeptime.fire = nothing  # type: ignore[method-assign]
    world.send(pair.main, "one")
    after = world.reborn()
    groups_of(after).delete(pair.group)
    after.sweep()
    assert (transcripts(after, pair), after.all_stores.due.all()) == ([], [])


def test_an_occurrence_of_a_schedule_starts_the_work_once(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=0)
    start = world.chain.sleeptime.start
    assert start(pair.group, "night 1") == [], "there is nothing to tell"
    world.send(pair.main, "one")
    (run_id,) = start(pair.group, "night 1")
    assert start(pair.group, "night 1") == [run_id]
    world.workflow.drive()
    world.send(pair.main, "two")
    assert start(pair.group, "night 1") == [run_id]
    (other,) = start(pair.group, "night 2")
    world.workflow.drive()
    assert run_id != other
    assert [said(text)[0] for text in transcripts(world, pair)] == ["user: one", "user: two"]
    with pytest.raises(NotFound):
        start("group-00000000-0000-4000-8000-000000000000", "night 1")


def test_several_sleepers_of_one_agent_are_told_the_same(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    first, second = (pair_in(world) for _ in range(2))
    config = SleeptimeSettings(manager_agent_id=first.main, sleeptime_agent_frequency=1)
    group = groups_of(world).create(GroupCreate(agent_ids=[first.sleeper, second.sleeper], description="", manager_config=config))
    run_ids = world.response(world.send(first.main, "hello")).usage.run_ids or []
    assert [world.run(run_id).run.agent_id for run_id in run_ids] == [first.sleeper, second.sleeper]
    mine = Pair(first.main, first.sleeper, group.id)
    assert transcripts(world, mine) == transcripts(world, Pair(first.main, second.sleeper, group.id))
    agents_of(world).delete(second.sleeper)
    world.send(first.main, "again")
    assert [said(text)[0] for text in transcripts(world, mine)] == ["user: hello", "user: again"]


def test_a_budget_that_is_used_up_delays_what_is_told(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=1)
    world.budgets.set(pair.sleeper, SetBudget(steps_per_day=1))
    for number in (1, 2):
        world.send(pair.main, f"turn {number}")
    assert len(transcripts(world, pair)) == 1
    world.clock.sleep(24 * 3600)
    world.sweep()
    assert len(transcripts(world, pair)) == 1, "nothing waits for the budget"
    world.send(pair.main, "turn 3")
    assert [line for line in said(transcripts(world, pair)[-1]) if line.startswith("user")] == ["user: turn 2", "user: turn 3"]


def test_a_paused_sleeper_is_told_the_next_time(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    pair = pair_in(world, every=1)
    pauses = AgentPauses(records_of(world), world.stores.pauses)
    pauses.pause(pair.sleeper, PauseAgent())
    world.send(pair.main, "one")
    assert (transcripts(world, pair), world.all_stores.due.all()) == ([], [])
    pauses.resume(pair.sleeper)
    world.send(pair.main, "two")
    (text,) = transcripts(world, pair)
    assert [line for line in said(text) if line.startswith("user")] == ["user: one", "user: two"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(plan=st.lists(st.sampled_from(("turn", "idle", "night", "crash")), min_size=1, max_size=8), every=st.integers(0, 3))
def test_every_turn_is_told_once_whatever_sets_the_sleeper_to_work(
    tmp_path_factory: pytest.TempPathFactory, plan: Sequence[str], every: int
) -> None:
    """A crash: the process dies after the turn's last transaction, before it has started anything. The next one sweeps."""
    world = world_in(tmp_path_factory.mktemp("data"))
    pair = pair_in(world, every=every, idle=60)
    turns = 0
    for number, act in enumerate([*plan, "turn", "idle"]):
        if act in ("turn", "crash"):
            turns += 1
            run_id = world.begin(pair.main, f"turn {turns}")
            if act == "crash":
                lost = world
                lost.chain.sleeptime.fire = nothing  # type: ignore[method-assign]
                while lost.advance(run_id) == "advance":
                    pass
                world = lost.reborn(holder=f"host:{number + 2}")
            world.sweep()
        elif act == "night":
            world.chain.sleeptime.start(pair.group, f"night {number}")
            world.workflow.drive()
        else:
            world.clock.sleep(61.0)
            world.sweep()
    told = [line for text in transcripts(world, pair) for line in said(text) if line.startswith("user")]
    assert told == [f"user: turn {number}" for number in range(1, turns + 1)]


def nothing(_trigger: object) -> Sequence[str]:
    return []
