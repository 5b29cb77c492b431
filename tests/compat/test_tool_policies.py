"""Tool policies over HTTP: how an administrator sets them, what agents and requests are told that they stop, and the record of
calls.

The module's policies stand before its first turn, because other processes follow a change within seconds; each chooses its own
agents by a tag.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Keyed, Make, Said, calls

INSERT = ("memory_insert", {"label": "human", "new_string": "tea"})
DENIED = "Nobody changes this memory."
POLICIES: list[dict[str, Any]] = [
    {
        "name": "notes of the boss",
        "action": "allow",
        "agent_tags": ["open"],
        "arguments": [{"path": "label", "matches": ["human"]}],
    },
    {"name": "closed", "action": "deny", "tools": ["memory_*"], "agent_tags": ["open", "closed"], "message": DENIED},
    {"name": "careful", "action": "ask", "tools": ["memory_insert"], "agent_tags": ["careful"]},
    {"name": "trusted", "action": "allow", "tools": ["memory_insert"], "agent_tags": ["trusted"], "waives_approval": True},
    {"name": "seldom", "action": "allow", "agent_tags": ["seldom"], "rate": {"calls": 1, "seconds": 86_400, "per": "agent"}},
]


@pytest.fixture(scope="module")
def ids(http: httpx.Client) -> dict[str, str]:
    """The policies of the module, by name."""
    made = [http.post("/v1/tool-policies", json=each) for each in POLICIES]
    assert [each.status_code for each in made] == [200] * len(POLICIES), made[-1].text
    return {each.json()["name"]: each.json()["id"] for each in made}


def returned(reply: Any) -> list[tuple[str, str]]:
    found = [each for each in reply.messages if each.message_type == "tool_return_message"]
    return [(one.status, one.tool_return) for each in found for one in each.tool_returns]


def recorded(http: httpx.Client, agent_id: str) -> list[tuple[str, str | None]]:
    found = http.get("/v1/tool-calls", params={"agent_id": agent_id}).json()
    return [(each["outcome"], each["policy_name"]) for each in reversed(found)]


@pytest.mark.manifest("tool_policies.deny", "tool_policies.record")
def test_a_denied_call_returns_what_its_policy_says(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, ids: dict[str, str]
) -> None:
    agent = new_agent(tags=["closed"])
    said.next(calls(INSERT), {"content": "I see."})
    reply = client.agents.messages.create(agent.id, input="I like tea")
    ((status, text),) = returned(reply)
    assert status == "error"
    assert DENIED in text
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == ""
    (call,) = http.get("/v1/tool-calls", params={"agent_id": agent.id}).json()
    assert (call["tool"], call["outcome"], call["policy_id"], call["source"]) == ("memory_insert", "denied", ids["closed"], "run")
    assert len(call["arguments_digest"]) == 64
    assert "tea" not in str(call)


@pytest.mark.manifest("tool_policies.deny")
def test_a_request_does_not_get_around_a_denial(client: Letta, new_agent: Make, ids: dict[str, str]) -> None:
    agent = new_agent(tags=["closed"])
    result = client.agents.tools.run("memory_insert", agent_id=agent.id, args=INSERT[1])
    assert (result.status, result.stderr) == ("error", [DENIED])
    careful = new_agent(tags=["careful"])
    asked = client.agents.tools.run("memory_insert", agent_id=careful.id, args=INSERT[1])
    assert asked.status == "error"
    assert "approval" in (asked.stderr or [""])[0]


@pytest.mark.manifest("tool_policies.order")
def test_the_first_policy_that_matches_decides(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, ids: dict[str, str]
) -> None:
    agent = new_agent(tags=["open"])
    other = ("memory_insert", {"label": "other", "new_string": "tea"})
    said.next(calls(INSERT, other), {"content": "Done."})
    reply = client.agents.messages.create(agent.id, input="I like tea")
    assert [status for status, _ in returned(reply)] == ["success", "error"]
    assert recorded(http, agent.id) == [("allowed", "notes of the boss"), ("denied", "closed")]


@pytest.mark.manifest("tool_policies.ask", "tool_policies.record")
def test_a_policy_asks_as_an_approval_rule_does(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, ids: dict[str, str]
) -> None:
    agent = new_agent(tags=["careful"])
    said.next(calls(INSERT), {"content": "Thank you."})
    asked = client.agents.messages.create(agent.id, input="I like tea")
    assert asked.stop_reason.stop_reason == "requires_approval"
    answer = {"type": "approval", "approvals": [{"type": "approval", "tool_call_id": "call_1", "approve": True}]}
    client.agents.messages.create(agent.id, messages=[answer])
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "tea"
    assert recorded(http, agent.id) == [("asked", "careful"), ("approved", "careful")]


@pytest.mark.manifest("tool_policies.allow")
def test_only_a_policy_that_says_so_lifts_an_agents_own_approval_rule(
    client: Letta, new_agent: Make, said: Said, ids: dict[str, str]
) -> None:
    for tag, reason in (("trusted", "end_turn"), ("open", "requires_approval")):
        agent = new_agent(tags=[tag], tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}])
        said.next(calls(INSERT), {"content": "Done."})
        assert client.agents.messages.create(agent.id, input="I like tea").stop_reason.stop_reason == reason


@pytest.mark.manifest("tool_policies.rate")
def test_a_call_above_the_rate_is_told_when_to_try_again(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, ids: dict[str, str]
) -> None:
    agent = new_agent(tags=["seldom"])
    said.next(calls(INSERT, INSERT), {"content": "Done."})
    first, second = returned(client.agents.messages.create(agent.id, input="I like tea"))
    assert (first[0], second[0]) == ("success", "error")
    assert "Try it again in " in second[1]
    assert recorded(http, agent.id) == [("allowed", "seldom"), ("limited", "seldom")]


@pytest.mark.manifest("tool_policies.administration")
@pytest.mark.deployed
def test_policies_are_listed_shown_changed_ordered_and_deleted(http: httpx.Client, ids: dict[str, str]) -> None:
    nowhere = {"name": "of a test", "action": "deny", "tools": ["no_such_tool"]}
    made = http.post("/v1/tool-policies", json={**nowhere, "position": 0}).json()
    path, before = f"/v1/tool-policies/{made['id']}", [each["id"] for each in http.get("/v1/tool-policies").json()]
    assert before[0] == made["id"]
    assert http.get(path).json() == made
    changed = http.patch(path, json={"message": "No.", "servers": ["files*"]}).json()
    assert (changed["message"], changed["servers"], changed["tools"]) == ("No.", ["files*"], ["no_such_tool"])
    assert http.patch(path, json={"servers": None}).json()["servers"] is None
    ordered = http.put("/v1/tool-policies/order", json={"policy_ids": [*before[1:], before[0]]})
    assert [each["id"] for each in ordered.json()] == [*before[1:], before[0]]
    assert http.put("/v1/tool-policies/order", json={"policy_ids": before[1:]}).status_code == 400
    assert http.patch(path, json={"rate": {"calls": 1, "seconds": 60}}).status_code == 400
    assert http.delete(path).status_code == 200
    assert [http.request(verb, path).status_code for verb in ("GET", "DELETE")] == [404, 404]


@pytest.mark.manifest("tool_policies.administration")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"action": "forbid"}, "action"),
        ({"tools": []}, "tools"),
        ({"tools": ["x" * 201]}, "tools"),
        ({"tool": ["x"]}, "tool"),
        ({"arguments": [{"path": "a..b", "matches": ["x"]}]}, "path"),
        ({"arguments": [{"path": "a"}]}, "matches"),
        ({"rate": {"calls": 0, "seconds": 60}}, "calls"),
        ({"rate": {"calls": 1, "seconds": 60}}, "rate"),
        ({"waives_approval": True}, "waives_approval"),
        ({"message": "x" * 1001}, "message"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_by_name(http: httpx.Client, fields: dict[str, Any], named: str) -> None:
    refused = http.post("/v1/tool-policies", json={"name": "wrong", "action": "deny", **fields})
    assert refused.status_code == 422
    assert named in refused.json()["detail"]


@pytest.mark.manifest("tool_policies.test")
@pytest.mark.deployed
def test_a_call_can_be_tested_before_it_is_made(http: httpx.Client, new_agent: Make, ids: dict[str, str]) -> None:
    agent = new_agent(tags=["open"])
    tested = http.post(
        "/v1/tool-policies/test", json={"tool": "memory_insert", "args": {"label": "x"}, "agent_id": agent.id}
    ).json()
    assert (tested["outcome"], tested["policy"]["id"], tested["told"]) == ("deny", ids["closed"], DENIED)
    reasons = {each["name"]: (each["matches"], each["reason"]) for each in tested["checked"]}
    assert reasons["notes of the boss"] == (False, "The arguments at `label` do not fit.")
    assert reasons["closed"] == (True, "The call matches.")
    free = http.post("/v1/tool-policies/test", json={"tool": "memory_insert", "agent_tags": []}).json()
    assert (free["outcome"], free["policy"]) == (None, None)
    assert recorded(http, agent.id) == []


@pytest.mark.manifest("tool_policies.administration")
def test_only_administrators_manage_the_policies_of_their_own_tenant(keyed: Keyed) -> None:
    writer, admin = ({"authorization": f"Bearer {keyed.key(scope=scope)}"} for scope in ("write", "admin"))
    assert [keyed.get(path, writer).status_code for path in ("/v1/tool-policies", "/v1/tool-calls")] == [403, 403]
    made = httpx.post(f"{keyed.url}/v1/tool-policies", json={"name": "ours", "action": "ask"}, headers=admin, timeout=30).json()
    stranger = {"authorization": f"Bearer {keyed.key('stranger')}"}
    assert keyed.get(f"/v1/tool-policies/{made['id']}", stranger).status_code == 404
    assert keyed.get("/v1/tool-policies", stranger).json() == []
