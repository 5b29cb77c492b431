"""What a run asked for, until when, and who answered: an extension of Letta's wire (`GET /v1/runs/{id}/approval`)."""

from __future__ import annotations

from datetime import datetime

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Make, Said, calls
from tests.compat.test_approvals import INSERT, LAMP, REPLACE, answer, says


@pytest.mark.manifest("approvals.of_run")
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
