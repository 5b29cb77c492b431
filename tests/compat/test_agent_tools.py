"""An agent's tools through the SDK (Letta V1 API, API 1.4 and 2.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from letta_client import Letta, NotFoundError

NewAgent = Callable[..., Any]
GREET = '''
def greet(name: str) -> str:
    """Greet somebody.

    Args:
        name: Whom.
    """
    import os
    return f"{os.environ.get('GREETING')}, {name}"
'''


@pytest.mark.manifest("agents.tools.list", "agents.tools.attach", "agents.tools.detach")
def test_tools_are_attached_and_detached_as_often_as_one_likes(client: Letta, new_agent: NewAgent) -> None:
    tool = client.tools.create(source_code=GREET, default_requires_approval=True)
    agent = new_agent()
    for _ in range(2):
        assert client.agents.tools.attach(tool.id, agent_id=agent.id) is None
    assert "greet" in {one.name for one in client.agents.tools.list(agent.id)}
    rules = client.agents.retrieve(agent.id).tool_rules or []
    assert [(rule.type, rule.tool_name) for rule in rules] == [("requires_approval", "greet")]
    for _ in range(2):
        assert client.agents.tools.detach(tool.id, agent_id=agent.id) is None
    assert "greet" not in {one.name for one in client.agents.tools.list(agent.id)}
    assert client.agents.retrieve(agent.id).tool_rules == rules
    with pytest.raises(NotFoundError):
        client.agents.tools.attach("tool-00000000-0000-4000-8000-000000000000", agent_id=agent.id)


@pytest.mark.manifest("agents.tools.list.limit")
def test_ten_tools_are_listed_where_nobody_says_how_many(http: httpx.Client, new_agent: NewAgent) -> None:
    builtin = [tool["name"] for tool in http.get("/v1/tools/", params={"return_only_letta_tools": True}).json()]
    assert len(builtin) > 10
    agent = new_agent(tools=builtin)
    assert len(http.get(f"/v1/agents/{agent.id}/tools").json()) == 10
    assert len(http.get(f"/v1/agents/{agent.id}/tools", params={"limit": 50}).json()) == len(builtin)


@pytest.mark.manifest("agents.tools.null_or_state")
@pytest.mark.deployed
def test_other_clients_are_told_the_agent_where_the_sdk_is_told_nothing(
    http: httpx.Client, client: Letta, new_agent: NewAgent
) -> None:
    tool, agent = client.tools.create(source_code=GREET), new_agent()
    for path in (f"tools/attach/{tool.id}", "tools/approval/greet?requires_approval=true", f"tools/detach/{tool.id}"):
        answer = http.patch(f"/v1/agents/{agent.id}/{path}")
        assert (answer.status_code, answer.json()["id"]) == (200, agent.id)


@pytest.mark.manifest("agents.tools.approval")
def test_an_approval_rule_is_set_and_taken_away(client: Letta, http: httpx.Client, new_agent: NewAgent) -> None:
    agent = new_agent()

    def ruled() -> list[str]:
        return [rule.tool_name for rule in client.agents.retrieve(agent.id).tool_rules or [] if rule.type == "requires_approval"]

    assert client.agents.tools.update_approval("memory_insert", agent_id=agent.id, body_requires_approval=True) is None
    assert ruled() == ["memory_insert"]
    client.agents.tools.update_approval("memory_insert", agent_id=agent.id, body_requires_approval=False)
    assert ruled() == []
    assert http.patch(f"/v1/agents/{agent.id}/tools/approval/memory_insert").status_code == 422


@pytest.mark.manifest("agents.tools.run")
@pytest.mark.deployed
def test_an_attached_tool_is_run_with_the_agents_secrets(client: Letta, new_agent: NewAgent) -> None:
    tool = client.tools.create(source_code=GREET)
    agent = new_agent(tool_ids=[tool.id], secrets={"GREETING": "Hello"})
    result = client.agents.tools.run("greet", agent_id=agent.id, args={"name": "Ann"})
    assert (result.status, result.func_return, result.agent_state) == ("success", "Hello, Ann", None)
    edited = client.agents.tools.run(
        "memory_insert", agent_id=agent.id, args={"label": "human", "new_string": "Ann", "insert_line": 0}
    )
    assert edited.status == "success"
    assert "Ann" in client.agents.blocks.retrieve("human", agent_id=agent.id).value
    with pytest.raises(NotFoundError, match=f"Tool 'x' not found or not attached to agent '{agent.id}'"):
        client.agents.tools.run("x", agent_id=agent.id)
