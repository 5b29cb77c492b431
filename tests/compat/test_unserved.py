"""Routes of V1 that are not served (yet): no client meets a bare 404 or 405, and lists of what nobody can make are empty (digest 2 and 3)."""

from __future__ import annotations

import re

import httpx
import pytest
from letta_client import InternalServerError, Letta

from hibernaut.rest.unserved_routes import unserved
from tests.compat.v1_routes import v1_routes

AGENT = "agent-00000000-0000-4000-8000-000000000000"
BARE = ({"detail": "Not Found"}, {"detail": "Method Not Allowed"})
IDS = {"agent_id": AGENT, "endpoint:path": "a/b", "path:path": "a/b"}


def filled(path: str) -> str:
    return re.sub(r"\{([^}]*)\}", lambda name: IDS.get(name[1], "x"), path)


@pytest.mark.manifest("routes.unserved")
def test_a_route_to_come_says_its_name(http: httpx.Client) -> None:
    for route in unserved():
        for method in route.methods:
            answer = http.request(method, filled(route.path), content=b"no json")
            body = answer.json()
            assert (answer.status_code, body["code"], body["route"]) == (501, "route_not_served", f"{method} {route.path}")
            assert route.what.rstrip(".") in body["detail"]
            assert (route.never or "not served yet") in body["detail"]
            assert answer.headers["x-should-retry"] == "false"


@pytest.mark.manifest("routes.unserved")
def test_no_route_of_v1_is_a_bare_404_or_405(http: httpx.Client) -> None:
    answers = {
        (method, path): http.request(method, filled(path), headers={"content-type": "application/json"}, content=b"{}")
        for method, path in v1_routes()
    }
    assert [route for route, answer in answers.items() if answer.content and answer.json() in BARE] == []


@pytest.mark.manifest("routes.unserved")
def test_the_sdk_raises_at_once(client: Letta) -> None:
    with pytest.raises(InternalServerError, match="mcp-servers") as raised:
        client.mcp_servers.create(server_name="x", config={"mcp_server_type": "sse", "server_url": "https://mcp.example"})
    assert raised.value.status_code == 501


@pytest.mark.manifest("mcp.list")
def test_lists_of_what_nobody_can_make_are_empty(client: Letta) -> None:
    assert list(client.mcp_servers.list()) == []


@pytest.mark.manifest(
    "sandbox.list",
    "mcp.by_name.list",
)
def test_lists_outside_of_the_sdk_are_empty(http: httpx.Client) -> None:
    lists = ("sandbox-config",)
    assert {http.get(f"/v1/{path}", params={"limit": 5, "order": "desc"}).text for path in lists} == {"[]"}
    assert http.get("/v1/tools/mcp/servers").json() == {}
    assert http.get("/v1/sandbox-config", params={"after": "sandbox-x"}).status_code == 404, "no cursor is known in an empty list"
    assert http.get("/v1/sandbox-config", params={"limit": "many"}).status_code == 422


@pytest.mark.manifest("messages.update")
def test_what_was_said_is_not_changed(http: httpx.Client) -> None:
    answer = http.patch(f"/v1/agents/{AGENT}/messages/message-00000000-0000-4000-8000-000000000000", json={})
    assert (answer.status_code, "append-only" in answer.json()["detail"]) == (405, True)
