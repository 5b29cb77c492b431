"""Human approval and tools of the client, in Letta's wire (API 5.4), and what Hibernaut adds: deadlines, interruption,
repair.
"""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, BadRequestError, ConflictError, Letta, NotFoundError

from tests.compat.conftest import Make, Said, calls

NOPE = "nope"
LAMP = {
    "name": "lamp",
    "description": "Switches it.",
    "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}},
}
INSERT = ("memory_insert", {"label": "human", "new_string": "tea"})
REPLACE = ("memory_replace", {"label": "human", "old_string": "", "new_string": "tea"})


def held(*names: str) -> list[dict[str, str]]:
    return [{"type": "requires_approval", "tool_name": name} for name in names]


def says(call_id: str, *, approve: bool, reason: str | None = None) -> dict[str, Any]:
    return {"type": "approval", "tool_call_id": call_id, "approve": approve, "reason": reason}


def answer(client: Letta, agent_id: str, *items: dict[str, Any], **more: Any) -> Any:
    return client.agents.messages.create(agent_id, messages=[{"type": "approval", "approvals": list(items)}], **more)


def types(messages: Any) -> list[str]:
    return [message.message_type for message in messages]


@pytest.fixture
def asking(client: Letta, new_agent: Make, said: Said) -> tuple[str, Any]:
    """An agent that has asked to be allowed one call, and the reply in which it did."""
    agent = new_agent(tool_rules=held("memory_insert"))
    said.next(calls(INSERT, content="May I?"), {"content": "Thank you."})
    reply = client.agents.messages.create(agent.id, input="I like tea")
    return agent.id, reply


@pytest.mark.manifest("approvals.request")
@pytest.mark.deployed
def test_a_call_that_needs_an_approval_is_asked_for_and_ends_the_run(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, reply = asking
    assert types(reply.messages) == ["assistant_message", "approval_request_message"]
    text, request = reply.messages
    assert text.id == request.id
    assert request.otid == request.id
    assert (request.tool_call.name, request.tool_call.tool_call_id) == ("memory_insert", "call_1")
    assert [call.tool_call_id for call in request.tool_calls] == ["call_1"]
    assert reply.stop_reason.stop_reason == "requires_approval"
    run = client.runs.retrieve(request.run_id)
    assert (run.status, run.stop_reason) == ("completed", "requires_approval")
    assert client.agents.blocks.retrieve("human", agent_id=agent_id).value == ""


@pytest.mark.manifest("approvals.pending")
def test_what_waits_is_shown_with_the_agent(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, reply = asking
    shown = client.agents.retrieve(agent_id, include=["agent.pending_approval"]).pending_approval
    assert shown is not None
    assert shown.id == reply.messages[-1].id
    assert client.agents.retrieve(agent_id).pending_approval is None
    answer(client, agent_id, says("call_1", approve=True))
    assert client.agents.retrieve(agent_id, include=["agent.pending_approval"]).pending_approval is None


@pytest.mark.manifest("approvals.approve")
@pytest.mark.deployed
def test_an_approved_call_is_run_and_its_return_comes_first(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, reply = asking
    answered = answer(client, agent_id, says("call_1", approve=True))
    assert types(answered.messages) == ["tool_return_message", "assistant_message"]
    returned = answered.messages[0]
    assert returned.step_id == reply.messages[-1].step_id
    assert returned.run_id != reply.messages[-1].run_id
    assert [each.status for each in returned.tool_returns] == ["success"]
    assert "tea" in client.agents.blocks.retrieve("human", agent_id=agent_id).value


@pytest.mark.manifest("approvals.deny")
def test_a_denied_call_returns_the_reason(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, _ = asking
    answered = answer(client, agent_id, says("call_1", approve=False, reason=NOPE))
    returned = answered.messages[0]
    assert returned.tool_return == f"Error: request to call tool denied. User reason: {NOPE}"
    assert returned.status == "error"
    assert answered.messages[1].content == "Thank you."
    assert client.agents.blocks.retrieve("human", agent_id=agent_id).value == ""


@pytest.mark.manifest("approvals.mixed", "approvals.each")
def test_of_parallel_calls_those_that_need_no_approval_wait_too(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(tools=["memory_insert", "memory_replace"], include_base_tools=False)
    client.agents.tools.update_approval("memory_replace", agent_id=agent.id, body_requires_approval=True)
    said.next(calls(INSERT, REPLACE, REPLACE), {"content": "Done."})
    reply = client.agents.messages.create(agent.id, input="I like tea")
    assert types(reply.messages) == ["tool_call_message", "approval_request_message"]
    free, request = reply.messages
    assert free.id != request.id
    assert [call.tool_call_id for call in free.tool_calls] == ["call_1"]
    assert [call.tool_call_id for call in request.tool_calls] == ["call_2", "call_3"]
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == ""
    answered = answer(client, agent.id, says("call_3", approve=False, reason=NOPE), says("call_2", approve=True))
    returns = answered.messages[0].tool_returns
    assert [each.tool_call_id for each in returns] == ["call_2", "call_3", "call_1"]
    assert NOPE in returns[1].tool_return
    assert returns[2].status == "success"


@pytest.mark.manifest("approvals.ids")
def test_an_answer_must_name_what_waits(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, _ = asking
    with pytest.raises(BadRequestError) as refused:
        answer(client, agent_id, says("bad", approve=True))
    assert refused.value.body == {"detail": "Invalid tool call IDs. Expected '['call_1']', but received '['bad']'."}


@pytest.mark.manifest("approvals.ids")
def test_an_answer_meant_for_another_agent_changes_nothing(client: Letta, asking: tuple[str, Any], new_agent: Make) -> None:
    agent_id, reply = asking
    other = new_agent()
    with pytest.raises(BadRequestError, match="No tool call is currently awaiting approval"):
        answer(client, other.id, says("call_1", approve=True))
    shown = client.agents.retrieve(agent_id, include=["agent.pending_approval"]).pending_approval
    assert shown is not None
    assert shown.id == reply.messages[-1].id


@pytest.mark.manifest("approvals.further")
def test_messages_behind_the_answer_are_given_to_the_model(client: Letta, asking: tuple[str, Any], said: Said) -> None:
    agent_id, _ = asking
    further = [{"type": "approval", "approvals": [says("call_1", approve=True)]}, {"role": "user", "content": "and this too"}]
    client.agents.messages.create(agent_id, messages=further)
    assert said.server.requests[-1].body["messages"][-1]["content"].startswith("and this too\n<memory_update>"), (
        "and of what the call did"
    )


@pytest.mark.manifest("approvals.legacy")
def test_the_deprecated_form_answers_a_single_call(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, reply = asking
    old = {"type": "approval", "approve": True, "approval_request_id": reply.messages[-1].id}
    answered = client.agents.messages.create(agent_id, messages=[old])
    assert answered.messages[0].status == "success"


@pytest.mark.manifest("approvals.again")
@pytest.mark.deployed
def test_the_same_answer_again_gets_the_first_ones_reply_without_a_model_call(
    client: Letta, asking: tuple[str, Any], said: Said
) -> None:
    agent_id, _ = asking
    first = answer(client, agent_id, says("call_1", approve=True))
    asked = len(said.server.requests)
    again = answer(client, agent_id, says("call_1", approve=True))
    assert [message.id for message in again.messages] == [message.id for message in first.messages]
    assert len(said.server.requests) == asked


@pytest.mark.manifest("approvals.refused_message")
def test_a_plain_message_is_refused_while_an_approval_waits(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, reply = asking
    with pytest.raises(ConflictError) as refused:
        client.agents.messages.create(agent_id, input="hello?")
    detail = refused.value.body["detail"]
    assert (detail["code"], detail["pending_request_id"]) == ("PENDING_APPROVAL", reply.messages[-1].id)
    assert detail["message"].startswith("CONFLICT: Cannot send a new message: The agent is waiting for approval")
    assert refused.value.response.headers["x-should-retry"] == "false"


@pytest.mark.manifest("approvals.refused_stream")
def test_a_stream_of_a_plain_message_is_an_error_while_an_approval_waits(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, _ = asking
    seen = []
    with (
        pytest.raises(APIStatusError) as refused,
        client.agents.messages.create(agent_id, input="hello?", streaming=True) as events,
    ):
        seen.extend(event.message_type for event in events)
    assert seen == ["ping", "stop_reason"]
    assert refused.value.status_code == 200
    assert refused.value.body["error_type"] == "internal_error"


@pytest.mark.manifest("messages.approval_ids")
@pytest.mark.deployed
def test_a_stream_of_tokens_shows_the_request_by_an_id_of_its_own(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(tool_rules=held("memory_insert"))
    said.next(calls(INSERT, content="May I?"), {"content": "Thank you."})
    seen = list(client.agents.messages.create(agent.id, input="I like tea", streaming=True, stream_tokens=True))
    texts = {event.id for event in seen if event.message_type == "assistant_message"}
    requests = [event for event in seen if event.message_type == "approval_request_message"]
    stored = list(client.agents.messages.list(agent.id, order="asc"))
    assert (len(texts), len({event.id for event in requests})) == (1, 1)
    assert texts | {requests[0].id} == {message.id for message in stored[-2:]}
    assert texts != {requests[0].id}
    pieces = [getattr(event.tool_call, "arguments", None) or "" for event in requests]
    assert "".join(pieces) == stored[-1].tool_call.arguments
    assert seen[-2].stop_reason == "requires_approval"
    answer(client, agent.id, says("call_1", approve=True))
    assert "tea" in client.agents.blocks.retrieve("human", agent_id=agent.id).value


@pytest.mark.manifest("approvals.interrupt")
def test_a_message_may_interrupt_what_waits(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, _ = asking
    reply = client.agents.messages.create(agent_id, input="never mind", extra_body={"when_busy": "interrupt"})
    assert types(reply.messages) == ["tool_return_message", "assistant_message"]
    assert reply.messages[0].status == "error"
    assert client.agents.blocks.retrieve("human", agent_id=agent_id).value == ""


@pytest.mark.manifest("approvals.cancel")
@pytest.mark.deployed
def test_cancelling_withdraws_the_request(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, reply = asking
    assert client.agents.messages.cancel(agent_id) == {reply.messages[-1].run_id: "cancelled"}
    with pytest.raises(BadRequestError, match="No tool call is currently awaiting approval"):
        answer(client, agent_id, says("call_1", approve=True))
    denied = next(row for row in client.agents.messages.list(agent_id) if row.message_type == "approval_response_message")
    assert denied.reason == "The user cancelled the request, so the tool call was denied."
    assert client.agents.messages.create(agent_id, input="hello").stop_reason.stop_reason == "end_turn"


@pytest.mark.manifest("approvals.response_in_lists")
def test_the_answer_stands_in_the_log(client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, _ = asking
    answer(client, agent_id, says("call_1", approve=False, reason=NOPE))
    listed = list(client.agents.messages.list(agent_id, order="asc"))
    response = next(message for message in listed if message.message_type == "approval_response_message")
    assert (response.approve, response.reason, response.approval_request_id) == (False, NOPE, "call_1")
    assert [item.tool_call_id for item in response.approvals] == ["call_1"]
    assert response.otid is None


@pytest.mark.manifest("approvals.client_tools")
@pytest.mark.deployed
def test_a_tool_of_the_client_is_run_by_the_client(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(("lamp", {"on": True})), {"content": "It is on."})
    reply = client.agents.messages.create(agent.id, input="Light!", client_tools=[LAMP])
    assert types(reply.messages) == ["approval_request_message"]
    assert reply.messages[0].tool_call.arguments == '{"on": true}'
    result = {"type": "tool", "tool_call_id": "call_1", "tool_return": "lit", "status": "success", "stdout": ["click"]}
    answered = answer(client, agent.id, result, client_tools=[LAMP])
    returned = answered.messages[0].tool_returns[0]
    assert (returned.tool_return, returned.status, returned.stdout) == ("lit", "success", ["click"])
    assert answered.messages[1].content == "It is on."
    assert "lit" in str(said.server.requests[-1].body["messages"][-1]["content"])


@pytest.mark.manifest("approvals.client_tools.mixed")
def test_tools_of_the_client_and_of_the_server_may_be_called_together(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(INSERT, ("lamp", {"on": True})), {"content": "Done."})
    client.agents.messages.create(agent.id, input="Light and tea", client_tools=[LAMP])
    returns = [{"type": "tool", "tool_call_id": "call_2", "tool_return": "lit", "status": "success"}]
    answered = client.agents.messages.create(agent.id, messages=[{"type": "tool_return", "tool_returns": returns}])
    assert [each.tool_call_id for each in answered.messages[0].tool_returns] == ["call_2", "call_1"]
    assert "tea" in client.agents.blocks.retrieve("human", agent_id=agent.id).value


@pytest.mark.manifest("approvals.client_tools.images")
def test_a_client_tool_may_return_text_and_images(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(("lamp", {"on": True})), {"content": "Bright."})
    client.agents.messages.create(agent.id, input="Light!", client_tools=[LAMP])
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    parts = [{"type": "text", "text": "lit"}, picture]
    result = {"type": "tool", "tool_call_id": "call_1", "tool_return": parts, "status": "success"}
    answered = answer(client, agent.id, result, client_tools=[LAMP])
    returned = answered.messages[0]
    assert returned.tool_return == "lit"
    assert [part.type for part in returned.tool_returns[0].tool_return] == ["text", "image"]
    given, shown = said.server.requests[-1].body["messages"][-2:]
    assert (given["role"], "lit" in given["content"]) == ("tool", True)
    assert shown["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


@pytest.mark.manifest("approvals.client_tools.names")
def test_a_client_tool_takes_the_place_of_the_agents_tool_of_its_name(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    mine: Any = {**LAMP, "name": "memory_insert"}
    said.next(calls(("memory_insert", {"on": True})), {"content": "Done."})
    reply = client.agents.messages.create(agent.id, input="hello", client_tools=[mine])
    offered = [tool["function"] for tool in said.server.requests[-1].body["tools"] if tool["function"]["name"] == "memory_insert"]
    assert [one["description"] for one in offered] == [LAMP["description"]]
    assert reply.stop_reason.stop_reason == "requires_approval"
    result = {"type": "tool", "tool_call_id": "call_1", "tool_return": "by the client", "status": "success"}
    assert answer(client, agent.id, result, client_tools=[mine]).messages[0].tool_return == "by the client"
    assert [block.value for block in client.agents.blocks.list(agent.id) if block.label == "human"] == [""]
    said.next(calls(INSERT), {"content": "Done."})
    assert client.agents.messages.create(agent.id, input="tea").messages[1].message_type == "tool_return_message"


@pytest.mark.manifest("approvals.client_tools.names")
def test_two_client_tools_of_one_name_are_refused(client: Letta, new_agent: Make) -> None:
    with pytest.raises(BadRequestError, match="client tool 'lamp' cannot be used: the name is given twice"):
        client.agents.messages.create(new_agent().id, input="hello", client_tools=[LAMP, LAMP])


@pytest.mark.manifest("approvals.by_agent")
def test_an_agent_may_be_told_to_ask_by_the_tools_approval(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    client.agents.tools.update_approval("memory_insert", agent_id=agent.id, body_requires_approval=True)
    said.next(calls(INSERT), {"content": "Done."})
    reply = client.agents.messages.create(agent.id, input="tea")
    assert reply.stop_reason.stop_reason == "requires_approval"


@pytest.mark.manifest("approvals.by_default")
def test_a_tool_may_ask_by_default(client: Letta, new_agent: Make, said: Said) -> None:
    source = (
        'def ring(times: int) -> str:\n    """Ring.\n\n    Args:\n        times (int): How often.\n    """\n    return "rung"\n'
    )
    tool = client.tools.upsert(source_code=source, default_requires_approval=True)
    agent = new_agent(tool_ids=[tool.id])
    said.next(calls(("ring", {"times": 1})), {"content": "Done."})
    reply = client.agents.messages.create(agent.id, input="ring")
    assert reply.stop_reason.stop_reason == "requires_approval"
    answered = answer(client, agent.id, says("call_1", approve=True))
    assert answered.messages[0].tool_return == "rung"


@pytest.mark.manifest("approvals.deadline")
@pytest.mark.deployed
def test_a_deadline_may_be_set_with_the_agent_and_must_lie_ahead(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    shown = http.get(f"/v1/agents/{agent.id}").json()
    assert shown["approval_deadline"] == 7 * 24 * 3600
    client.agents.update(agent.id, extra_body={"approval_deadline": None})
    assert http.get(f"/v1/agents/{agent.id}").json()["approval_deadline"] is None
    assert http.patch(f"/v1/agents/{agent.id}", json={"approval_deadline": 0}).status_code == 422
    with pytest.raises(BadRequestError, match="must lie in the future"):
        client.agents.messages.create(agent.id, input="hello", extra_body={"approval_deadline": -1})


@pytest.mark.manifest("messages.when_busy")
def test_an_unknown_mode_is_refused(http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    reply = http.post(f"/v1/agents/{agent.id}/messages", json={"input": "hello", "when_busy": "push"})
    assert reply.status_code == 422
    assert "queue" in reply.json()["detail"]
    assert len(http.get(f"/v1/agents/{agent.id}/messages").json()) == 1


@pytest.mark.manifest("messages.repair")
@pytest.mark.deployed
def test_a_repair_of_what_is_in_order_says_so(http: httpx.Client, client: Letta, asking: tuple[str, Any]) -> None:
    agent_id, reply = asking
    report = http.post(f"/v1/agents/{agent_id}/messages/repair").json()
    assert (report["changed"], report["pending_approval"]) == (False, reply.messages[-1].id)
    assert http.post("/v1/agents/agent-00000000-0000-4000-8000-000000000000/messages/repair").status_code == 404
    with pytest.raises(NotFoundError):
        client.post(f"/v1/agents/{agent_id}/messages/repair", cast_to=object, options={"params": {"conversation_id": "conv-x"}})


@pytest.mark.manifest("approvals.cancelled_answer", "approvals.response_in_lists")
def test_an_answer_again_after_its_run_was_cancelled_goes_on(client: Letta, asking: tuple[str, Any], said: Said) -> None:
    agent_id, _ = asking
    yes = says("call_1", approve=True)
    reached, go_on = threading.Event(), threading.Event()

    def waits(_number: int) -> None:
        reached.set()
        go_on.wait(20)

    said.next({"content": "Never said.", "before": waits})
    first = threading.Thread(target=lambda: answer(client, agent_id, yes))
    first.start()
    assert reached.wait(20)
    client.agents.messages.cancel(agent_id)
    go_on.set()
    first.join()
    said.next({"content": "Going on."})
    again = answer(client, agent_id, yes)
    assert [one.content for one in again.messages] == ["Going on."]
    assert again.stop_reason.stop_reason == "end_turn"
    assert "was cancelled. Go on from here." in said.server.requests[-1].body["messages"][-1]["content"]
    listed = client.agents.messages.list(agent_id).items
    assert "keep-alive" in listed[-2].content, "how V1's clients know the row"
    assert [one.approval_request_id for one in listed if one.message_type == "approval_response_message"] == ["call_1"]
