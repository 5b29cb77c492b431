"""What a run asked for, until when, and who answered: an extension of Letta's wire (`GET /v1/runs/{id}/approval`)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Make, Said, calls
from tests.compat.test_approvals import INSERT, LAMP, REPLACE, answer, says


@pytest.mark.manifest("approvals.of_run")
@pytest.mark.deployed
def test_a_run_says_what_it_asked_for_until_when_and_who_answered(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    agent = new_agent(tools=["memory_insert", "memory_replace"], include_base_tools=False)
    client.agents.tools.update_approval("memory_replace", agent_id=agent.id, body_requires_approval=True)
    said.next(calls(INSERT, REPLACE, ("lamp", {"on": True})), {"content": "Done."})
    reply = client.agents.messages.create(
        agent.id, input="Light and tea", client_tools=[LAMP], extra_body={"approval_deadline": 3600}
    )
    place = f"/v1/runs/{reply.messages[-1].run_id}/approval"
    found = http.get(place).json()
    shown = {one["name"]: (one["tool_call_id"], one["needs_answer"], one["by_client"]) for one in found["calls"]}
    assert shown == {
        "memory_insert": ("call_1", False, False),
        "memory_replace": ("call_2", True, False),
        "lamp": ("call_3", True, True),
    }
    assert (found["agent_id"], found["conversation_id"], found["message_id"]) == (agent.id, None, reply.messages[-1].id)
    waits = datetime.fromisoformat(found["deadline"]) - datetime.fromisoformat(found["asked_at"])
    assert (waits.total_seconds(), found["how"], found["answered_by"]) == (3600, None, None)
    assert [(one["name"], one["parameters"]) for one in found["client_tools"]] == [("lamp", LAMP["parameters"])]
    result = {"type": "tool", "tool_call_id": "call_3", "tool_return": "lit", "status": "success"}
    answered = answer(client, agent.id, says("call_2", approve=True), result)
    found = http.get(place).json()
    assert (found["how"], found["answered_by"]) == ("answered", answered.messages[0].run_id)
    assert http.get(f"/v1/runs/{answered.messages[0].run_id}/approval").status_code == 404


@pytest.mark.manifest("approvals.waiting")
@pytest.mark.deployed
def test_all_that_waits_is_listed_until_it_is_answered_whatever_ran_later(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    agent, other = (new_agent(tools=[], include_base_tools=False) for _ in range(2))
    for one in (agent, agent, other):
        conversation = client.conversations.create(agent_id=one.id)
        said.next(calls(("lamp", {"on": True})))
        body = {"messages": [{"role": "user", "content": "Light"}], "client_tools": [LAMP], "streaming": False}
        assert http.post(f"/v1/conversations/{conversation.id}/messages", json=body).is_success
    said.next({"content": "Nothing waits here."})
    client.agents.messages.create(agent.id, input="Hello")

    def listed(**query: str | int) -> list[dict[str, Any]]:
        return list(http.get("/v1/runs/approvals", params=query).json())

    waiting = listed()
    assert [one["agent_id"] for one in waiting] == [other.id, agent.id, agent.id]
    assert waiting == sorted(waiting, key=lambda one: one["run_id"], reverse=True)
    assert waiting[0] == http.get(f"/v1/runs/{waiting[0]['run_id']}/approval").json()
    assert listed(agent_id=agent.id) == waiting[1:]
    assert listed(limit=1, after=waiting[0]["run_id"]) == waiting[1:2]
    assert listed(limit=1, before=waiting[2]["run_id"]) == waiting[1:2]
    assert listed(order="asc", limit=2) == waiting[:0:-1]
    client.agents.messages.cancel(other.id, run_ids=[waiting[0]["run_id"]])
    said.next({"content": "Done."})
    result = {"type": "tool", "tool_call_id": "call_1", "tool_return": "lit", "status": "success"}
    body = {"messages": [{"type": "approval", "approvals": [result]}], "streaming": False}
    assert http.post(f"/v1/conversations/{waiting[1]['conversation_id']}/messages", json=body).is_success
    assert [one["run_id"] for one in listed()] == [waiting[2]["run_id"]]
