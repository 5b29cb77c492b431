"""Calls that wait for a person or for the client: asked, answered, denied, overdue, interrupted, withdrawn (API 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hibernaut.ports.storage.table import Contended
from hibernaut.schemas.errors import ApprovalPending, InvalidArgument
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.send import ClientToolCreate, LettaRequest
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule, TerminalToolRule
from hibernaut.services.sending.sending import SendRequest
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable
from tests.support.world import World, data_in

ASK = calls(("ring", {"x": "once"}))
MIXED = calls(("memory_insert", {"label": "human", "new_string": "tea"}), ("ring", {"x": "once"}), text="May I?")
RING, INSERT = "call-0-ring", "call-0-memory_insert"
LAMP = ClientToolCreate(name="lamp", parameters={"type": "object", "properties": {}})


def yes(call_id: str = RING) -> Mapping[str, Any]:
    return {"type": "approval", "tool_call_id": call_id, "approve": True}


def no(call_id: str = RING, reason: str = "nope") -> Mapping[str, Any]:
    return {"type": "approval", "tool_call_id": call_id, "approve": False, "reason": reason}


def gives(call_id: str, text: str = "42") -> Mapping[str, Any]:
    return {"type": "tool", "tool_call_id": call_id, "tool_return": text, "status": "success"}


def opened(folder: Path, *replies: object, rules: tuple[str, ...] = ("ring",)) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*replies, says("done"))))  # type: ignore[arg-type]
    held = [RequiresApprovalToolRule(tool_name=name) for name in rules]
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "ring", "chime"), rules=held)


def asked(folder: Path, *replies: object, rules: tuple[str, ...] = ("ring",), **options: object) -> tuple[World, str, str]:
    world, agent_id = opened(folder, *(replies or (ASK,)), rules=rules)
    return world, agent_id, world.send(agent_id, "hello", **options)


def returned(world: World, agent_id: str) -> dict[str, str]:
    rows: list[Message] = [row for row in world.log(agent_id) if row.role == "tool"]
    return {each.tool_call_id: each.func_response or "" for row in rows for each in row.tool_returns}


def test_a_reply_whose_call_needs_an_approval_ends_its_run_and_runs_nothing(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path)
    state = world.run(run_id)
    assert (state.run.status, state.run.stop_reason) == (RunStatus.COMPLETED, StopReason.REQUIRES_APPROVAL)
    assert world.head(agent_id).pending == run_id
    assert world.runner.effects == []
    request = world.log(agent_id)[-1]
    assert (request.role, [call.id for call in request.tool_calls or ()]) == ("approval", [RING])


def test_an_approved_call_is_run_by_the_run_of_the_answer_which_asks_the_model_in_the_step_after(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    run_id = world.answer(agent_id, yes()).run_id
    world.workflow.drive()
    assert [name for name, _ in world.runner.effects] == ["ring"]
    assert [message.message_type for message in world.response(run_id).messages] == ["tool_return_message", "assistant_message"]
    assert world.run(run_id).run.steps == 1
    check_settled(world, agent_id)


def test_the_return_of_an_approved_call_bears_the_old_step_and_the_new_run(tmp_path: Path) -> None:
    world, agent_id, asking = asked(tmp_path)
    run_id = world.answer(agent_id, yes()).run_id
    world.workflow.drive()
    request = next(row for row in world.log(agent_id) if row.role == "approval" and row.tool_calls)
    answer = next(row for row in world.log(agent_id) if row.role == "tool")
    assert (answer.step_id, answer.run_id) == (request.step_id, run_id)
    assert request.run_id == asking


def test_a_denied_call_is_not_run_and_the_model_reads_the_reason(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    world.answer(agent_id, no(reason="too loud"))
    world.workflow.drive()
    assert world.runner.effects == []
    assert "Error: request to call tool denied. User reason: too loud" in returned(world, agent_id)[RING]
    check_settled(world, agent_id)


def test_the_calls_that_need_no_approval_wait_with_the_one_that_does(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path, MIXED)
    assert world.block(agent_id, "human").value == "Ann"
    shown = [message.message_type for message in world.response(run_id).messages]
    assert shown == ["assistant_message", "tool_call_message", "approval_request_message"]
    world.answer(agent_id, yes("call-1-ring"))
    world.workflow.drive()
    assert "tea" in world.block(agent_id, "human").value
    assert list(returned(world, agent_id)) == ["call-1-ring", INSERT]
    check_settled(world, agent_id)


def test_of_two_calls_one_may_be_approved_and_the_other_denied(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path, calls(("ring", {"x": "1"}), ("chime", {"x": "2"})), rules=("ring", "chime"))
    world.answer(agent_id, no("call-0-ring", "not now"), yes("call-1-chime"))
    world.workflow.drive()
    assert [name for name, _ in world.runner.effects] == ["chime"]
    assert "not now" in returned(world, agent_id)["call-0-ring"]
    check_settled(world, agent_id)


def test_messages_behind_the_answer_come_after_the_returns_and_before_the_model(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    world.answer(agent_id, yes(), texts=["and this too"])
    world.workflow.drive()
    roles = [row.role for row in world.log(agent_id)]
    assert roles == ["system", "user", "approval", "approval", "tool", "user", "assistant"]
    assert world.models.requests[-1].messages[-1].text() == "and this too"
    check_settled(world, agent_id)


def test_a_terminal_tool_that_was_approved_ends_the_run_unless_more_was_said(tmp_path: Path) -> None:
    for place, texts in enumerate(([], ["and?"])):
        world = World(data_in(tmp_path / str(place), in_turn(ASK, says("done"))))
        rules = [RequiresApprovalToolRule(tool_name="ring"), TerminalToolRule(tool_name="ring")]
        agent_id = world.make_agent(tools=("ring",), rules=rules)
        world.send(agent_id, "hello")
        run_id = world.answer(agent_id, yes(), texts=texts).run_id
        world.workflow.drive()
        assert world.run(run_id).run.stop_reason == (StopReason.END_TURN if texts else StopReason.TOOL_RULE)
        check_settled(world, agent_id)


@pytest.mark.parametrize(
    "answer", [[], [yes("bad")], [yes(), yes("bad")], [yes(), yes()]], ids=["none", "another", "one too many", "twice"]
)
def test_an_answer_must_name_exactly_the_calls_that_wait(answer: list[Mapping[str, Any]], tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path)
    before = world.log(agent_id)
    with pytest.raises(InvalidArgument, match=rf"Invalid tool call IDs. Expected '\['{RING}'\]', but received") as refused:
        world.answer(agent_id, *answer)
    assert RING in refused.value.detail
    assert (world.log(agent_id), world.head(agent_id).pending) == (before, run_id)


def test_the_deprecated_form_answers_a_single_call(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    request = world.log(agent_id)[-1].id
    old = {"approvals": None, "approve": False, "approval_request_id": request, "reason": "no need"}
    world.answer(agent_id, body=old)
    world.workflow.drive()
    assert "no need" in returned(world, agent_id)[RING]


def test_the_deprecated_form_must_name_the_request_that_waits(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    with pytest.raises(InvalidArgument, match="Invalid approval request ID"):
        world.answer(agent_id, body={"approvals": None, "approve": True, "approval_request_id": "message-other"})


def test_an_answer_to_nothing_is_refused(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    with pytest.raises(InvalidArgument, match="No tool call is currently awaiting approval"):
        world.answer(agent_id, yes())


def test_the_same_answer_again_attaches_and_the_model_is_not_asked_again(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    first = world.answer(agent_id, yes(), texts=["go on"])
    early = world.answer(agent_id, yes(), texts=["go on"])
    world.workflow.drive()
    asked_so_far = len(world.models.requests)
    late = world.answer(agent_id, yes(), texts=["go on"])
    world.workflow.drive()
    assert (early.run_id, late.run_id) == (first.run_id, first.run_id)
    assert early.attached
    assert late.attached
    assert len(world.models.requests) == asked_so_far
    check_settled(world, agent_id)


def test_another_answer_to_what_was_answered_is_refused(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    world.answer(agent_id, yes())
    world.workflow.drive()
    with pytest.raises(InvalidArgument, match="No tool call is currently awaiting approval"):
        world.answer(agent_id, no())


def test_an_old_answer_attaches_also_while_the_next_question_waits(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path, ASK, calls(("chime", {"x": "2"})), rules=("ring", "chime"))
    first = world.answer(agent_id, yes())
    world.workflow.drive()
    assert world.head(agent_id).pending == first.run_id
    assert world.answer(agent_id, yes()).run_id == first.run_id


def test_the_answer_must_be_the_first_message_of_its_request(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    messages = [{"role": "user", "content": "first"}, {"type": "approval", "approvals": [yes()]}]
    with pytest.raises(InvalidArgument, match="must be the first message"):
        world.sending.accept(SendRequest(agent_id, LettaRequest.model_validate({"messages": messages}), "send", "d"))


# a plain message meanwhile


def test_a_plain_message_is_refused_while_an_approval_waits(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    request = world.log(agent_id)[-1].id
    for mode in (None, "reject"):
        with pytest.raises(ApprovalPending) as refused:
            world.accept(agent_id, "hello?", when_busy=mode)
        assert refused.value.request_id == request
    assert len(list(world.stores.runs.walk([agent_id]))) == 1


def test_a_message_that_asks_to_wait_waits_behind_the_answer(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path)
    waiting = world.accept(agent_id, "me later", when_busy="queue")
    assert waiting.waits
    world.answer(agent_id, yes())
    world.workflow.drive()
    assert world.run(waiting.run_id).run.stop_reason == StopReason.END_TURN
    check_settled(world, agent_id)


def test_a_message_that_interrupts_denies_what_waits_and_goes_on(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path, MIXED)
    run_id = world.send(agent_id, "never mind", when_busy="interrupt")
    assert world.runner.effects == []
    assert world.block(agent_id, "human").value == "Ann"
    assert all("denied" in text for text in returned(world, agent_id).values())
    assert world.models.requests[-1].messages[-1].text() == "never mind"
    assert world.run(run_id).run.stop_reason == StopReason.END_TURN
    check_settled(world, agent_id)


def test_a_message_that_interrupts_is_accepted_although_the_wait_that_it_ends_cannot_be_read(tmp_path: Path) -> None:
    throttled = False

    def at(_: int, moment: str) -> None:
        nonlocal throttled
        if throttled and moment.startswith("before"):
            raise Contended("throttled")
        throttled = throttled or (armed and moment == "after write")

    armed = False
    data = data_in(tmp_path, in_turn(ASK, says("done")))
    world = World(data, wrap=lambda table: CountingTable(table, at))
    agent_id = world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])
    world.send(agent_id, "hello")
    armed = True
    body = LettaRequest(input="never mind", when_busy="interrupt")
    accepted = world.sending.accept(SendRequest(agent_id, body, "send_message", "digest"))
    assert throttled
    armed = throttled = False
    assert world.run(accepted.run_id).run.status == RunStatus.RUNNING


# client tools


def test_a_client_tool_waits_for_the_clients_result_which_the_model_reads(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path, calls(("lamp", {})), client_tools=[LAMP])
    assert world.run(run_id).run.stop_reason == StopReason.REQUIRES_APPROVAL
    world.answer(agent_id, gives("call-0-lamp", "it is on"))
    world.workflow.drive()
    assert "it is on" in returned(world, agent_id)["call-0-lamp"]
    assert world.runner.effects == []
    check_settled(world, agent_id)


def test_results_may_be_sent_by_the_short_form_and_together_with_server_tools(tmp_path: Path) -> None:
    reply = calls(("memory_insert", {"label": "human", "new_string": "tea"}), ("lamp", {}))
    world, agent_id, _ = asked(tmp_path, reply, client_tools=[LAMP])
    world.answer(agent_id, body={"type": "tool_return", "approvals": None, "tool_returns": [gives("call-1-lamp")]})
    world.workflow.drive()
    assert "tea" in world.block(agent_id, "human").value
    assert list(returned(world, agent_id)) == ["call-1-lamp", INSERT]
    check_settled(world, agent_id)


def test_a_client_tool_that_is_approved_instead_of_run_returns_an_error(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path, calls(("lamp", {})), client_tools=[LAMP])
    world.answer(agent_id, yes("call-0-lamp"))
    world.workflow.drive()
    assert "the client sent no result" in returned(world, agent_id)["call-0-lamp"]


def test_two_client_tools_may_not_have_one_name(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    with pytest.raises(InvalidArgument, match="client tool 'lamp' cannot be used: the name is given twice"):
        world.accept(agent_id, "hello", client_tools=[ClientToolCreate(name="lamp"), ClientToolCreate(name="lamp")])
    assert [row.role for row in world.log(agent_id)] == ["system"]


@pytest.mark.parametrize("name", ["ring", "memory_insert"], ids=["a custom tool's", "a memory tool's"])
def test_a_client_tool_takes_the_place_of_the_servers_tool_of_its_name(name: str, tmp_path: Path) -> None:
    """The approval of its call without a result runs nothing on the server either."""
    world, agent_id, run_id = asked(
        tmp_path, calls((name, {"label": "human", "new_string": "tea"})), client_tools=[ClientToolCreate(name=name)]
    )
    assert world.run(run_id).run.stop_reason == StopReason.REQUIRES_APPROVAL
    world.answer(agent_id, yes(f"call-0-{name}"))
    world.workflow.drive()
    assert "the client sent no result" in returned(world, agent_id)[f"call-0-{name}"]
    assert world.runner.effects == []
    assert "tea" not in world.block(agent_id, "human").value
    check_settled(world, agent_id)


@pytest.mark.parametrize("name", ["ring", "memory_insert"], ids=["a custom tool's", "a memory tool's"])
def test_a_client_tool_that_the_answer_names_first_leaves_an_earlier_call_to_the_server(name: str, tmp_path: Path) -> None:
    call = (name, {"label": "human", "new_string": "tea"})
    world, agent_id, _ = asked(tmp_path, calls(call), calls(call), rules=(name,))
    later = world.answer(agent_id, yes(f"call-0-{name}"), client_tools=[ClientToolCreate(name=name)]).run_id
    world.workflow.drive()
    assert "no result" not in returned(world, agent_id)[f"call-0-{name}"]
    assert world.runner.effects == ([call] if name == "ring" else [])
    assert ("tea" in world.block(agent_id, "human").value) is (name == "memory_insert")
    assert world.run(later).run.stop_reason == StopReason.REQUIRES_APPROVAL, "the model's next call is the client's"
    waiting = world.stores.approvals.get(later)
    assert waiting is not None
    assert [call.client for call in waiting.record.held] == [True]
    world.answer(agent_id, gives(f"call-0-{name}"))
    world.workflow.drive()
    check_settled(world, agent_id)


# cancel


def test_cancelling_the_run_that_asked_withdraws_its_request_and_hands_on(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path)
    waiting = world.accept(agent_id, "me later", when_busy="queue")
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    world.workflow.drive()
    assert "cancelled" in returned(world, agent_id)[RING]
    assert world.run(waiting.run_id).run.stop_reason == StopReason.END_TURN
    with pytest.raises(InvalidArgument, match="No tool call is currently awaiting approval"):
        world.answer(agent_id, yes())
    check_settled(world, agent_id)


def test_closing_the_run_that_asked_leaves_its_request_open(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path)
    world.chain.termination.end(run_id, StopReason.ERROR)
    assert world.head(agent_id).pending == run_id


def test_a_run_that_is_cancelled_before_it_resolved_its_calls_leaves_a_return_for_each(tmp_path: Path) -> None:
    world, agent_id, _ = asked(tmp_path, MIXED)
    run_id = world.answer(agent_id, yes("call-1-ring"), texts=["and this"]).run_id
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    world.workflow.drive()
    assert world.runner.effects == []
    assert [row.role for row in world.log(agent_id)][-2:] == ["tool", "user"]
    assert set(returned(world, agent_id)) == {"call-1-ring", INSERT}
    world.send(agent_id, "still there?")
    check_settled(world, agent_id)


def test_an_agent_that_clears_its_buffer_still_sees_what_it_asked(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, says("first"), ASK)
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    cleared = agent.model_copy(update={"message_buffer_autoclear": True, "version": agent.version + 1})
    world.stores.writer.write(*world.stores.agents.change(agent, cleared, "t"), token="t")
    world.send(agent_id, "forgotten")
    world.send(agent_id, "hello")
    world.answer(agent_id, yes())
    world.workflow.drive()
    seen = [row.role for row in world.models.requests[-1].messages]
    assert seen == ["user", "approval", "approval", "tool"]
