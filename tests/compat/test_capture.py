"""Turns that another system produced, by HTTP: letta-client has no method for them (Letta V1 API, API 3)."""

from __future__ import annotations

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Make, Said, calls

pytestmark = pytest.mark.deployed

TURN = {
    "provider": "openai",
    "model": "gpt-5",
    "request_messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "I live in Oslo."}],
    "response_dict": {"content": "Noted.", "id": "chatcmpl-1"},
}


@pytest.mark.manifest("messages.capture")
def test_a_captured_turn_is_in_the_log_and_read_by_the_next_run(
    http: httpx.Client, client: Letta, new_agent: Make, said: Said
) -> None:
    agent = new_agent()
    answer = http.post(f"/v1/agents/{agent.id}/messages/capture", json=TURN)
    assert (answer.status_code, answer.json()) == (200, {"success": True, "messages_created": 2, "run_ids": []})
    shown = [(row.message_type, row.content) for row in client.agents.messages.list(agent.id)][1:]
    assert shown == [("user_message", "I live in Oslo."), ("assistant_message", "Noted.")]
    said.next({"content": "Oslo."})
    client.agents.messages.create(agent.id, input="Where do I live?")
    asked = [(one["role"], one["content"]) for one in said.server.requests[-1].body["messages"]][1:]
    assert [role for role, _ in asked] == ["user", "assistant", "user"]
    assert ["Oslo" in asked[0][1], asked[1][1]] == [True, "Noted."]


@pytest.mark.manifest("messages.capture")
def test_what_cannot_be_captured_changes_nothing(http: httpx.Client, client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(tools=["memory_insert"], tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}])
    path = f"/v1/agents/{agent.id}/messages/capture"
    before = http.get(f"/v1/agents/{agent.id}/messages").json()
    for wrong in (
        {"response_dict": {}},
        {"response_dict": {"content": ""}},
        {"request_messages": [{"role": "user", "content": "x"}] * 1_001},
        {"request_messages": [{"role": "user", "content": 7}]},
        {"model": None},
    ):
        assert http.post(path, json={**TURN, **wrong}).status_code == 422, wrong
    assert http.post(path.replace(agent.id, "agent-00000000-0000-4000-8000-000000000000"), json=TURN).status_code == 404
    assert http.get(f"/v1/agents/{agent.id}/messages").json() == before
    said.next(calls(("memory_insert", {"label": "human", "new_string": "x"})))
    client.agents.messages.create(agent.id, input="hi")
    assert http.post(path, json=TURN).status_code == 409
