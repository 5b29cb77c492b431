"""Budgets over HTTP: how an administrator sets them, and what a client of V1 is told that reaches one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from letta_client import Letta, RateLimitError

from tests.compat.conftest import DEMO, HANDLE, Keyed, Said, calls

CORE = ("core_memory_append", {"label": "human", "content": "Likes tea.", "request_heartbeat": True})


@pytest.fixture(scope="module")
def admin(keyed: Keyed) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=keyed.url, headers={"authorization": f"Bearer {keyed.key()}"}, timeout=30) as http:
        yield http


@pytest.fixture(scope="module")
def sdk(keyed: Keyed) -> Iterator[Letta]:
    with keyed.sdk(keyed.key()) as client:
        yield client


def made(sdk: Letta, **fields: Any) -> str:
    return sdk.agents.create(**{"model": DEMO, "memory_blocks": [{"label": "human", "value": ""}], **fields}).id


@pytest.mark.manifest("budgets.administration")
@pytest.mark.deployed
def test_an_administrator_sets_shows_lists_and_deletes_budgets(admin: httpx.Client, sdk: Letta) -> None:
    agent = made(sdk)
    put = admin.put(f"/v1/budgets/{agent}", json={"tokens_per_day": 100_000, "cost_per_month": 12.5})
    assert put.status_code == 200
    sdk.agents.messages.create(agent, input="hi")
    shown = admin.get(f"/v1/budgets/{agent}").json()
    assert (shown["subject"], shown["scope"], shown["cost_per_month"]) == (agent, "agent", 12.5)
    assert 0 < shown["used"]["tokens_per_day"] == shown["used"]["tokens_per_month"]
    assert shown["used"]["steps_per_day"] == 1
    assert shown["day_ends"] <= shown["month_ends"]
    assert agent in [each["subject"] for each in admin.get("/v1/budgets").json()]
    assert admin.get("/v1/budgets", params={"after": agent, "limit": 1}).status_code == 200
    assert admin.delete(f"/v1/budgets/{agent}").status_code == 200
    assert [admin.request(verb, f"/v1/budgets/{agent}").status_code for verb in ("GET", "DELETE")] == [404, 404]


@pytest.mark.manifest("budgets.administration")
def test_only_administrators_manage_the_budgets_of_their_own_tenant(keyed: Keyed, admin: httpx.Client, sdk: Letta) -> None:
    writer = {"authorization": f"Bearer {keyed.key(scope='write')}"}
    assert keyed.get("/v1/budgets", writer).status_code == 403
    with keyed.sdk(keyed.key("neighbour")) as other:
        foreign = made(other)
    assert admin.put(f"/v1/budgets/{foreign}", json={"tokens_per_day": 1}).status_code == 404
    stranger = "key-12345678-1234-4234-8234-123456789012"
    assert admin.put(f"/v1/budgets/{stranger}", json={"tokens_per_day": 1}).status_code == 404


@pytest.mark.manifest("budgets.administration")
@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"tokens_per_day": 0}, "tokens_per_day"),
        ({"concurrent_runs": -1}, "concurrent_runs"),
        ({"steps_per_month": 10**18}, "steps_per_month"),
        ({"cost_per_day": 10**18}, "cost_per_day"),
        ({"cost_per_day": "1.0000001"}, "cost_per_day"),
        ({"tokens_per_day": 1.5}, "tokens_per_day"),
        ({"tokens_per_week": 1}, "tokens_per_week"),
        ({}, "at least one limit"),
    ],
)
def test_a_budget_that_cannot_be_is_refused_by_name(admin: httpx.Client, limits: dict[str, object], named: str) -> None:
    refused = admin.put("/v1/budgets/tenant", json=limits)
    assert refused.status_code == 422
    assert named in refused.json()["detail"]
    assert admin.get("/v1/budgets/tenant").status_code == 404


@pytest.mark.manifest("budgets.refusal")
@pytest.mark.deployed
def test_a_message_beyond_a_budget_is_429_with_its_name(admin: httpx.Client, sdk: Letta) -> None:
    agent = made(sdk)
    admin.put(f"/v1/budgets/{agent}", json={"steps_per_day": 1})
    sdk.agents.messages.create(agent, input="hi")
    messages = sdk.agents.messages
    for send in (messages.create, messages.create_async, partial(messages.create, streaming=True)):
        with pytest.raises(RateLimitError) as refusal:
            send(agent, input="again")
        body, headers = refusal.value.body, refusal.value.response.headers
        assert isinstance(body, dict)
        assert {name: body[name] for name in ("code", "budget", "subject")} == {
            "code": "budget_exceeded",
            "budget": "steps_per_day",
            "subject": agent,
        }
        assert body["detail"].startswith(f"BUDGET_EXCEEDED: The budget steps_per_day of {agent} is used up: 1 of 1.")
        assert 0 < int(headers["retry-after"]) <= 86_400
        assert headers["x-should-retry"] == "false"


@pytest.mark.manifest("budgets.refusal")
def test_the_budget_of_a_key_bounds_its_requests_alone(keyed: Keyed, admin: httpx.Client, sdk: Letta) -> None:
    agent = made(sdk)
    bounded = admin.post("/v1/api-keys", json={"scope": "write"}).json()
    admin.put(f"/v1/budgets/{bounded['id']}", json={"tokens_per_month": 1})
    with keyed.sdk(bounded["key"]) as client:
        client.agents.messages.create(agent, input="hi")
        with pytest.raises(RateLimitError, match="tokens_per_month"):
            client.agents.messages.create(agent, input="again")
    sdk.agents.messages.create(agent, input="another key")
    assert admin.get(f"/v1/budgets/{bounded['id']}").json()["used"]["steps_per_month"] == 1


@pytest.mark.manifest("budgets.stop_reason")
@pytest.mark.deployed
def test_a_run_that_reaches_a_budget_says_so_and_keeps_its_messages(admin: httpx.Client, sdk: Letta, said: Said) -> None:
    said.next(calls(CORE))
    agent = made(sdk, model=HANDLE, agent_type="memgpt_v2_agent")
    admin.put(f"/v1/budgets/{agent}", json={"steps_per_day": 2})
    reply = sdk.agents.messages.create(agent, input="I like tea.")
    assert json.loads(reply.model_dump_json())["stop_reason"]["stop_reason"] == "budget_exceeded"
    assert reply.usage.step_count == 2
    run = admin.get("/v1/runs", params={"agent_id": agent}).json()[0]
    assert (run["status"], run["stop_reason"]) == ("completed", "budget_exceeded")
    assert run["metadata"]["budget"] == {"name": "steps_per_day", "subject": agent}
    texts = [message.content for message in sdk.agents.messages.list(agent) if message.message_type == "user_message"]
    assert "I like tea." in texts


@pytest.mark.manifest("budgets.refusal")
@pytest.mark.deployed
def test_a_question_without_a_run_counts_and_is_refused_too(admin: httpx.Client, sdk: Letta) -> None:
    agent = made(sdk)
    admin.put(f"/v1/budgets/{agent}", json={"tokens_per_month": 1})
    statuses = [admin.post(f"/v1/agents/{agent}/generate", json={"prompt": "Two and two?"}).status_code for _ in range(2)]
    assert statuses == [200, 429]


@pytest.mark.manifest("budgets.refusal")
@pytest.mark.deployed
def test_too_many_requests_in_a_second_are_429_and_may_be_sent_again(keyed: Keyed, admin: httpx.Client) -> None:
    bounded = admin.post("/v1/api-keys", json={"scope": "read"}).json()
    admin.put(f"/v1/budgets/{bounded['id']}", json={"requests_per_second": 1})
    replies = [keyed.get("/v1/models", {"x-api-key": bounded["key"]}) for _ in range(6)]
    refused = [reply for reply in replies if reply.status_code == 429]
    assert refused
    assert {reply.status_code for reply in replies} == {200, 429}
    assert (refused[0].json()["budget"], refused[0].headers["retry-after"]) == ("requests_per_second", "1")
    assert "x-should-retry" not in refused[0].headers


@pytest.mark.manifest("budgets.administration")
def test_the_budget_of_an_agent_goes_with_it(admin: httpx.Client, sdk: Letta) -> None:
    agent = made(sdk)
    admin.put(f"/v1/budgets/{agent}", json={"concurrent_runs": 1})
    sdk.agents.delete(agent)
    assert admin.get(f"/v1/budgets/{agent}").status_code == 404


@pytest.mark.manifest("usage.report")
@pytest.mark.deployed
def test_usage_is_added_up_by_key(keyed: Keyed, admin: httpx.Client, sdk: Letta) -> None:
    agent, key = made(sdk), admin.post("/v1/api-keys", json={"scope": "write"}).json()
    sdk.agents.messages.create(agent, input="hi")
    with keyed.sdk(key["key"]) as client:
        client.agents.messages.create(agent, input="hi")
        client.agents.messages.create(agent, input="hi")
    rows = admin.get("/v1/usage", params={"agent_id": agent}).json()["rows"]
    assert sorted(row["steps"] for row in rows) == [1, 2]
    (row,) = admin.get("/v1/usage", params={"key_id": key["id"]}).json()["rows"]
    assert (row["key_id"], row["steps"]) == (key["id"], 2)
