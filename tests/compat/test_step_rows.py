"""The rows that steps leave in the log, where clients match their words or count them."""

from __future__ import annotations

from typing import Any

import pytest
from letta_client import Letta

from tests.compat.conftest import Make, Said, calls

INSERT = ("memory_insert", {"label": "human", "new_string": "tea"})


def types(messages: Any) -> list[str]:
    return [message.message_type for message in messages]


@pytest.mark.manifest("messages.send.legacy_calls")
def test_clients_find_the_heartbeat_of_an_older_agent_by_its_words(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(agent_type="memgpt_v2_agent", include_base_tool_rules=False)
    wants_another_step = calls(("conversation_search", {"query": "Oslo", "request_heartbeat": True}))
    said.next(wants_another_step, calls(("send_message", {"message": "Done.", "request_heartbeat": False})))
    client.agents.messages.create(agent.id, input="Hello")
    heartbeats = [one.content for one in client.agents.messages.list(agent.id).items if one.message_type == "user_message"]
    assert sum("request_heartbeat=true" in str(content) for content in heartbeats) == 1


@pytest.mark.manifest("approvals.request")
def test_a_tool_whose_approval_was_switched_off_meanwhile_is_called_as_any_other(
    client: Letta, new_agent: Make, said: Said
) -> None:
    agent_id = new_agent(tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}]).id
    said.next(calls(INSERT), {"content": "Thank you."})
    client.agents.messages.create(agent_id, input="I like tea")
    client.agents.tools.update_approval("memory_insert", agent_id=agent_id, body_requires_approval=False)
    approval = {"type": "approval", "tool_call_id": "call_1", "approve": True}
    answered = client.agents.messages.create(agent_id, messages=[{"type": "approval", "approvals": [approval]}])
    assert types(answered.messages) == ["tool_return_message", "assistant_message"]
    said.next(calls(INSERT), {"content": "Noted."})
    called = ["tool_call_message", "tool_return_message", "assistant_message"]
    assert types(client.agents.messages.create(agent_id, input="And tea again").messages) == called
    listed = client.agents.messages.list(agent_id, limit=100, order="asc").items
    begin = next(place for place, one in enumerate(listed) if one.message_type == "approval_request_message")
    assert types(listed[begin:]) == [
        *("approval_request_message", "approval_response_message", "tool_return_message", "assistant_message"),
        *("user_message", *called),
    ]
