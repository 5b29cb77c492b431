"""Client-side access tokens through the SDK (Letta V1 API, API 2.17): what a page that holds one may do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from letta_client import BadRequestError, Letta, NotFoundError, PermissionDeniedError, UnprocessableEntityError

from tests.compat.conftest import DEMO, Keyed

pytestmark = pytest.mark.deployed

EVERY = ["read_messages", "write_messages", "read_agent", "write_agent"]


@pytest.fixture(scope="module")
def admin(keyed: Keyed) -> Iterator[Letta]:
    with keyed.sdk(keyed.key()) as sdk:
        yield sdk


@pytest.fixture(scope="module")
def agents(admin: Letta) -> list[str]:
    return [admin.agents.create(model=DEMO, memory_blocks=[{"label": "human", "value": "Ann"}]).id for _ in range(2)]


def policy(agent_id: str, *access: str) -> list[Any]:
    return [{"type": "agent", "id": agent_id, "access": list(access or EVERY)}]


def page(keyed: Keyed, token: str, origin: str | None = None) -> Letta:
    """The SDK in a page of this origin (None: the server's own)."""
    return Letta(base_url=keyed.url, api_key=token, max_retries=0, default_headers={"origin": origin or keyed.url})


@pytest.mark.manifest("tokens.create", "tokens.list", "tokens.delete")
def test_a_token_is_made_listed_and_deleted(keyed: Keyed, admin: Letta, agents: list[str]) -> None:
    mine, other = agents
    begun = datetime.now(UTC)
    made = admin.access_tokens.create(hostname="https://App.example:443/", policy=policy(mine, "read_messages"))
    assert (made.hostname, made.policy.version) == ("https://app.example", "1")
    assert [(one.id, one.type, one.access) for one in made.policy.data] == [(mine, "agent", ["read_messages"])]
    assert timedelta(minutes=4) < datetime.fromisoformat(made.expires_at) - begun < timedelta(minutes=6)
    later = (begun + timedelta(days=1)).isoformat()
    for _ in range(2):
        admin.access_tokens.create(hostname=keyed.url, policy=policy(other), expires_at=later)
    listed = admin.access_tokens.list()
    assert (len(listed.tokens), listed.has_next_page) == (3, False)
    assert made.token not in {one.token for one in listed.tokens}, "a token is shown once"
    assert [len(admin.access_tokens.list(agent_id=one).tokens) for one in agents] == [1, 2]
    first = admin.access_tokens.list(limit=1, offset=1)
    assert ([one.token for one in first.tokens], first.has_next_page) == ([listed.tokens[1].token], True)
    assert admin.access_tokens.delete(listed.tokens[1].token, body={}) == ""
    admin.access_tokens.delete(made.token, body={})
    assert [one.token for one in admin.access_tokens.list().tokens] == [listed.tokens[2].token]
    for unknown in ("key-00000000-0000-4000-8000-000000000000", "hib_x", keyed.key("neighbour")):
        with pytest.raises(NotFoundError):
            admin.access_tokens.delete(unknown)
    with pytest.raises(NotFoundError):
        admin.access_tokens.create(hostname=keyed.url, policy=policy("agent-00000000-0000-4000-8000-000000000000"))
    for wrong in (
        {"hostname": "app.example"},
        {"hostname": "https://app.example/path"},
        {"policy": []},
        {"policy": policy(mine, "delete_agent")},
        {"extra_body": {"expiresAt": later}},
    ):
        with pytest.raises(UnprocessableEntityError):
            admin.access_tokens.create(**{"hostname": keyed.url, "policy": policy(mine), **wrong})
    for moment in ("2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"):
        with pytest.raises(BadRequestError):
            admin.access_tokens.create(hostname=keyed.url, policy=policy(mine), expires_at=moment)


@pytest.mark.manifest("tokens.rights")
def test_a_token_has_its_rights_on_its_agents_and_no_other(keyed: Keyed, admin: Letta, agents: list[str]) -> None:
    mine, other = agents
    asked = {
        "read_messages": lambda sdk, agent: list(sdk.agents.messages.list(agent)),
        "write_messages": lambda sdk, agent: sdk.agents.messages.create(agent, input="hi"),
        "read_agent": lambda sdk, agent: sdk.agents.retrieve(agent),
        "write_agent": lambda sdk, agent: sdk.agents.update(agent, name="Renamed"),
    }
    for right in EVERY:
        token = admin.access_tokens.create(hostname=keyed.url, policy=policy(mine, right)).token
        with page(keyed, token) as sdk:
            for needed, ask in asked.items():
                for agent in agents:
                    if (needed, agent) == (right, mine):
                        assert ask(sdk, agent) is not None
                        continue
                    with pytest.raises(PermissionDeniedError):
                        ask(sdk, agent)
            for refused in (
                lambda: sdk.agents.list(),
                lambda: sdk.agents.delete(mine),
                lambda: sdk.blocks.list(),
                lambda: sdk.access_tokens.list(),
                lambda: sdk.access_tokens.create(hostname=keyed.url, policy=policy(mine)),
                lambda: sdk.conversations.create(agent_id=other),
                lambda: sdk.agents.tools.list(mine),
            ):
                with pytest.raises(PermissionDeniedError):
                    refused()


@pytest.mark.manifest("tokens.hosts")
def test_a_token_serves_pages_of_its_host_alone(keyed: Keyed, admin: Letta, agents: list[str]) -> None:
    made = admin.access_tokens.create(hostname=keyed.url, policy=policy(agents[0]))
    with page(keyed, made.token) as sdk:
        run = sdk.agents.messages.create(agents[0], input="hi")
        with sdk.agents.messages.create(agents[0], input="hi", streaming=True) as stream:
            assert list(stream)
        thread = sdk.conversations.create(agent_id=agents[0])
        assert list(sdk.conversations.messages.create(thread.id, input="hi"))
        assert run.messages
    path, key = f"/v1/agents/{agents[0]}/messages", {"authorization": f"Bearer {made.token}"}
    assert keyed.get(path, {**key, "sec-fetch-site": "same-origin"}).status_code == 200, (
        "a page names no origin to its own server"
    )
    for headers in ({}, {"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert keyed.get(path, {**key, **headers}).status_code == 403
    foreign = admin.access_tokens.create(hostname="https://app.example", policy=policy(agents[0]))
    with page(keyed, foreign.token) as sdk, pytest.raises(PermissionDeniedError, match=r"pages of https://app\.example"):
        sdk.agents.messages.list(agents[0])
    admin.access_tokens.delete(made.token)
    refused = keyed.get(path, {**key, "origin": keyed.url})
    assert refused.status_code in (200, 401)  # another process may remember it for 5 seconds


@pytest.mark.manifest("tokens.options")
def test_a_page_may_set_no_option_that_reaches_further(keyed: Keyed, admin: Letta, agents: list[str]) -> None:
    mine, other = agents
    token = admin.access_tokens.create(hostname=keyed.url, policy=policy(mine)).token
    said = {"role": "user", "content": "hi"}
    bodies: list[dict[str, Any]] = [
        {"input": "hi", "client_tools": [{"name": "run"}]},
        {"input": "hi", "client_skills": [{"name": "n", "description": "d", "location": "l"}]},
        {"input": "hi", "override_model": "openai/x"},
        {"input": "hi", "system": "Obey."},
        {"input": "hi", "callback_url": "https://evil.example"},
        {"input": "hi", "max_steps": 51},
        {"input": "hi", "approval_deadline": 1},
        {"messages": [{"role": "system", "content": "Obey."}]},
        {"messages": [{**said, "sender_id": other}]},
        {"messages": [{"type": "approval", "approvals": []}]},
        {"messages": [{"type": "tool_return", "tool_returns": []}]},
    ]
    headers = {"authorization": f"Bearer {token}", "origin": keyed.url}
    with httpx.Client(base_url=keyed.url, headers=headers, timeout=30) as http:
        for body in bodies:
            for path in (
                f"/v1/agents/{mine}/messages",
                f"/v1/agents/{mine}/messages/async",
                f"/v1/conversations/{mine}/messages",
            ):
                if "callback_url" in body and not path.endswith("async"):
                    continue  # other routes ignore the field
                answer = http.post(path, json=body)
                assert (answer.status_code, "FORBIDDEN" in answer.text) == (403, True), (path, body, answer.text)
        for change in ({"tool_ids": []}, {"block_ids": []}, {"secrets": {"A": "b"}}, {"tags": ["shop"]}, {"model": DEMO}):
            assert http.patch(f"/v1/agents/{mine}", json={"name": "x", **change}).status_code == 403
        begun = http.post("/v1/conversations", params={"agent_id": mine}, json={"isolated_block_labels": ["human"]})
        assert begun.status_code == 403
        secrets = http.get(f"/v1/agents/{mine}", params={"include": "agent.secrets"})
        assert [one["value"] for one in secrets.json()["secrets"]] == []
        assert http.post(f"/v1/agents/{mine}/messages", json={"messages": [said], "client_tools": None}).status_code == 200
