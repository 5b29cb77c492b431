"""A server with API keys: what answers without one, how a key is sent, and whose data it opens (API 1.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from letta_client import AuthenticationError, NotFoundError, PermissionDeniedError

from tests.compat.conftest import DEMO, Keyed
from tests.support.any_request import operations
from tests.support.api_description import api_description
from tests.support.neighbours import REFUSED, SECRET, WORD, Crossings, Stock

pytestmark = pytest.mark.deployed

UNSETTLED = ("/context", "/folders", "/sources", "/files", "/export")
"""Parts of the paths whose answers change by themselves: they tell of files that are still read, and of the time."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+")
USER = {"user_id": "user-12345678-1234-4234-8234-123456789012"}


@pytest.fixture(scope="module")
def key(keyed: Keyed) -> str:
    return keyed.key()


@pytest.mark.manifest("frame.keys")
@pytest.mark.parametrize("path", ["/v1/agents", "/v1/agents/", "/docs", "/openapi.json", "/v1/no-such-route", "/v1/groups"])
def test_without_a_key_everything_but_health_is_401(keyed: Keyed, key: str, path: str) -> None:
    del key  # there is one
    refused = keyed.get(path, {})
    assert (refused.status_code, refused.json()) == (401, {"detail": "Unauthorized"})
    assert 'error="missing"' in refused.headers["www-authenticate"]
    assert [keyed.get(f"/v1/{page}", {}).status_code for page in ("health", "health/", "ready")] == [200, 200, 200]


@pytest.mark.manifest("frame.keys")
def test_the_sdk_works_with_a_key_and_says_without_one_what_is_wrong(keyed: Keyed, key: str) -> None:
    with keyed.sdk(key) as client:
        agent = client.agents.create(model=DEMO, memory_blocks=[])
        reply = client.agents.messages.create(agent.id, input="hi")
        assert reply.messages
        with client.agents.messages.create(agent.id, input="hi", streaming=True) as stream:
            assert list(stream)
    for wrong in ("any", key[:-1] + ("x" if key[-1] != "x" else "y")):
        with keyed.sdk(wrong) as client, pytest.raises(AuthenticationError) as refusal:
            client.agents.list()
        assert refusal.value.body == {"detail": "Unauthorized"}
        assert 'error="malformed"' in refusal.value.response.headers["www-authenticate"]


@pytest.mark.manifest("frame.key_headers")
@pytest.mark.parametrize(
    "headers",
    [
        lambda key: {"authorization": f"Bearer {key}"},
        lambda key: {"authorization": f"bearer  {key}"},
        lambda key: {"x-api-key": key},
        lambda key: {"x-bare-password": f"password {key}"},
        lambda key: {"x-bare-password": key, "authorization": f"Bearer {key}"},
    ],
)
def test_a_key_may_come_in_any_of_three_headers(keyed: Keyed, key: str, headers: Callable[[str], dict[str, str]]) -> None:
    assert keyed.get("/v1/agents", headers(key)).status_code == 200


@pytest.mark.manifest("frame.key_headers")
def test_different_keys_and_a_key_in_the_query_are_refused(keyed: Keyed, key: str) -> None:
    both = keyed.get("/v1/agents", {"authorization": f"Bearer {key}", "x-api-key": keyed.key("other")})
    assert (both.status_code, 'error="ambiguous"' in both.headers["www-authenticate"]) == (401, True)
    assert keyed.get("/v1/agents", {"authorization": f"Basic {key}"}).status_code == 401
    asked = keyed.get(f"/v1/agents?api_key={key}", {"x-api-key": key})
    assert asked.status_code == 400
    assert key not in asked.text


@pytest.mark.manifest("frame.tenants")
def test_the_tenant_comes_from_the_key_and_from_nothing_else(keyed: Keyed, key: str) -> None:
    with keyed.sdk(key) as client, keyed.sdk(keyed.key("neighbour")) as other:
        agent = client.agents.create(model=DEMO, memory_blocks=[])
        assert agent.id in {each.id for each in client.agents.list()}
        assert list(other.agents.list()) == []
        with pytest.raises(NotFoundError):
            other.agents.retrieve(agent.id, extra_headers=USER)
        assert list(other.agents.list(extra_headers=USER | {"x-organization-id": keyed.tenant})) == []


def test_an_administrator_manages_the_keys_of_its_tenant(keyed: Keyed, key: str) -> None:
    with httpx.Client(base_url=keyed.url, headers={"authorization": f"Bearer {key}"}, timeout=30) as http:
        made = http.post("/v1/api-keys", json={"scope": "read", "name": "reader"}).json()
        reader = {"authorization": f"Bearer {made['key']}"}
        assert keyed.get("/v1/agents", reader).status_code == 200
        assert keyed.get("/v1/api-keys", reader).status_code == 403
        assert httpx.post(f"{keyed.url}/v1/blocks", json={"label": "x", "value": "y"}, headers=reader).status_code == 403
        shown = http.get(f"/v1/api-keys/{made['id']}").json()
        assert "key" not in shown
        assert "digest" not in shown
        assert http.patch(f"/v1/api-keys/{made['id']}", json={"name": "renamed"}).json()["name"] == "renamed"
        assert made["id"] in [each["id"] for each in http.get("/v1/api-keys").json()]
        successor = http.post(f"/v1/api-keys/{made['id']}/rotate", json={"grace_seconds": 0}).json()
        assert (successor["name"], successor["scope"]) == ("renamed", "read")
        assert http.delete(f"/v1/api-keys/{successor['id']}").json()["revoked_at"]
        refused = keyed.get("/v1/agents", {"x-api-key": successor["key"]})
        assert 'error="revoked"' in refused.headers["www-authenticate"]
        assert http.post("/v1/api-keys", json={"scope": "read", "tenant": "other"}).status_code == 422


def test_a_client_token_talks_to_its_agent_and_does_nothing_else(keyed: Keyed, key: str) -> None:
    with keyed.sdk(key) as client:
        mine, other = (client.agents.create(model=DEMO, memory_blocks=[], tags=[tag]).id for tag in ("shop", "desk"))
    admin = {"authorization": f"Bearer {key}"}
    wanted = {"scope": "write", "kind": "client", "agent_tags": ["shop"], "expires_at": "2999-01-01T00:00:00Z"}
    assert httpx.post(f"{keyed.url}/v1/api-keys", json=wanted, headers=admin).status_code == 400
    wanted["expires_at"] = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    token = httpx.post(f"{keyed.url}/v1/api-keys", json=wanted, headers=admin).json()["key"]
    with keyed.sdk(token) as client:
        assert client.agents.messages.create(mine, input="hi").messages
        assert list(client.agents.messages.list(mine))
        for refused in (
            lambda: client.agents.messages.create(other, input="hi"),
            lambda: client.agents.retrieve(mine),
            lambda: client.agents.update(mine, name="x"),
            lambda: client.agents.list(),
            lambda: client.blocks.list(),
        ):
            with pytest.raises(PermissionDeniedError):
                refused()


def test_no_route_shows_or_changes_what_another_tenant_has(keyed: Keyed) -> None:
    """One request for each route, in which every id of the path is the other's. All kinds of requests:
    `tests/properties/test_neighbours.py`.
    """
    document = api_description()
    with httpx.Client(base_url=keyed.url, timeout=60) as http:
        stocks = [Stock(http, keyed.key(tenant), texts) for tenant, texts in (("ours", "horse"), ("theirs", f"{WORD} {SECRET}"))]
        for stock in stocks:
            stock.fill()
            stock.things["key_id"] = http.get("/v1/api-keys", headers=stock.headers()).json()[0]["id"]
        ours, theirs = stocks
        crossings = Crossings(document, ours.things, theirs.things)
        named = [operation for operation in operations(document) if "{" in operation.path]
        settled = [operation for operation in named if not any(part in operation.path for part in UNSETTLED)]
        reads = [operation for operation in settled if operation.method == "get"]

        def shown() -> dict[str, str]:
            """What the owner reads, without the times at which some routes say that they answer."""
            return {str(each): TIME.sub("", theirs.send(crossings.only_theirs(each)).text) for each in reads}

        before = shown()
        for operation in named:
            answer = ours.send(crossings.only_theirs(operation))
            empty = answer.status_code in (200, 204) and answer.text in ("[]", "null", "")
            assert answer.status_code in REFUSED or empty, (operation, answer.text)
            assert SECRET not in answer.text
        assert shown() == before
