"""MCP servers through the SDK (Letta V1 API, API 2.14; RT 10.8), against a server of the official package on
loopback.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, ConflictError, Letta, NotFoundError

from tests.compat.conftest import Make, Said, Served, calls
from tests.compat.replies import returns
from tests.support.mcp_service import McpService
from tests.support.tables import all_items

TOKEN = "mcp-planted-token"
UNKNOWN = "mcp_server-00000000-0000-4000-8000-000000000000"


def wingspan(species: str, metric: bool = True) -> str:
    """Tells the wingspan of a bird."""
    return f"{species}: {'120 cm' if metric else '47 in'}"


@pytest.fixture
def birds() -> Iterator[McpService]:
    with McpService() as service:
        service.tool(wingspan)
        yield service


@pytest.fixture
def add(client: Letta, birds: McpService) -> Iterator[Any]:
    """Adds servers, and deletes them at the end."""
    made: list[str] = []

    def added(name: str, **config: Any) -> Any:
        usual = {"mcp_server_type": "streamable_http", "server_url": birds.url}
        server = client.mcp_servers.create(server_name=name, config={**usual, **config})  # type: ignore[arg-type]
        made.append(str(server.id))
        return server

    yield added
    for server_id in made:
        try:
            client.mcp_servers.delete(server_id)
        except NotFoundError:
            continue


def names(client: Letta, server: Any) -> list[str | None]:
    return [tool.name for tool in client.mcp_servers.tools.list(server.id)]


@pytest.mark.manifest("mcp.create", "mcp.tools.list", "mcp.tools.retrieve", "mcp.tools.run", "mcp.calls")
@pytest.mark.deployed
def test_an_agent_calls_the_tool_of_a_server_that_a_client_added(
    client: Letta, birds: McpService, add: Any, new_agent: Make, said: Said
) -> None:
    server = add("birds", auth_token=TOKEN)
    assert (server.server_name, server.mcp_server_type, server.server_url) == ("birds", "streamable_http", birds.url)
    (tool,) = client.mcp_servers.tools.list(server.id)
    assert (tool.name, tool.tool_type, tool.tags) == ("wingspan", "external_mcp", ["mcp:birds"])
    assert (tool.json_schema or {})["parameters"]["required"] == ["species"]
    assert client.mcp_servers.tools.retrieve(tool.id, mcp_server_id=server.id) == tool
    tried = client.mcp_servers.tools.run(tool.id, mcp_server_id=server.id, args={"species": "kea"})
    assert (tried.status, tried.func_return) == ("success", "kea: 120 cm")
    agent = new_agent(tool_ids=[tool.id], include_base_tools=False)
    said.next(calls(("wingspan", {"species": "owl", "metric": False})), {"content": "47 inches."})
    response = client.agents.messages.create(agent_id=agent.id, input="How wide?")
    assert returns(response) == [("success", "owl: 47 in")]
    assert {one.get("authorization") for one in birds.seen} == {f"Bearer {TOKEN}"}
    assert birds.seen[-1]["x-agent-id"] == agent.id


@pytest.mark.manifest("mcp.retrieve", "mcp.list", "mcp.update", "mcp.delete", "mcp.secrets")
@pytest.mark.deployed
def test_a_server_is_changed_listed_and_deleted_and_shows_no_secret(
    client: Letta, served: Served, birds: McpService, add: Any
) -> None:
    server = add("mine", auth_token=TOKEN, custom_headers={"X-Room": "planted-room"})
    with pytest.raises(ConflictError, match="mine"):
        add("mine")
    shown = client.mcp_servers.retrieve(server.id)
    assert shown == server
    assert [one.id for one in client.mcp_servers.list()] == [server.id]
    assert (shown.auth_token, shown.custom_headers) == ("********", {"X-Room": "********"})  # type: ignore[union-attr]
    changed = client.mcp_servers.update(
        server.id, server_name="ours", config={"mcp_server_type": "streamable_http", "server_url": birds.url}
    )
    assert (changed.server_name, changed.auth_token) == ("ours", "********")  # type: ignore[union-attr]
    assert client.mcp_servers.tools.list(server.id)[0].tags == ["mcp:ours"]
    with pytest.raises(APIStatusError, match="Send the token") as refused:
        client.mcp_servers.update(
            server.id, config={"mcp_server_type": "streamable_http", "server_url": "http://127.0.0.1:9999/mcp"}
        )
    assert refused.value.status_code == 400
    stored = str(all_items(served.table))
    assert TOKEN not in stored
    assert "planted-room" not in stored
    client.mcp_servers.delete(server.id)
    with pytest.raises(NotFoundError):
        client.mcp_servers.retrieve(server.id)
    assert [tool for tool in client.tools.list(limit=500) if tool.tool_type == "external_mcp"] == []


@pytest.mark.manifest("mcp.refresh")
def test_a_refresh_keeps_what_agents_have(client: Letta, birds: McpService, add: Any, new_agent: Make, said: Said) -> None:
    server = add("birds")
    (tool,) = client.mcp_servers.tools.list(server.id)
    agent = new_agent(tool_ids=[tool.id], include_base_tools=False)
    birds.drop("wingspan")
    birds.tool(lambda word: word, name="echo")
    said.next(calls(("wingspan", {"species": "owl"})), {"content": "I cannot."})
    ((status, text),) = returns(client.agents.messages.create(agent_id=agent.id, input="How wide?"))
    assert (status, "does not have the tool wingspan any more" in text) == ("error", True)
    refreshed: Any = client.mcp_servers.refresh(server.id)
    assert (refreshed["added"], refreshed["missing"], refreshed["deleted"]) == (["echo"], ["wingspan"], [])
    assert [one.id for one in client.agents.tools.list(agent.id)] == [tool.id]
    birds.tool(wingspan)
    assert client.mcp_servers.refresh(server.id) == {
        "added": [],
        "updated": ["wingspan"],
        "deleted": [],
        "missing": [],
        "left_out": [],
    }
    said.next(calls(("wingspan", {"species": "owl"})), {"content": "120 cm."})
    assert returns(client.agents.messages.create(agent_id=agent.id, input="And now?")) == [("success", "owl: 120 cm")]


@pytest.mark.manifest("mcp.create.unreachable")
@pytest.mark.deployed
def test_a_server_that_does_not_answer_is_added_and_says_why(client: Letta, birds: McpService, add: Any) -> None:
    birds.refuses = 401
    server = add("closed")
    assert "refused the credentials" in server.last_sync["error"]
    with pytest.raises(NotFoundError, match="refused the credentials") as refused:
        client.mcp_servers.refresh(server.id)
    detail = refused.value.body["detail"]  # type: ignore[index]
    assert (detail["code"], detail["server_name"]) == ("MCPServerUnavailable", "closed")
    assert detail["error"] in detail["message"]
    birds.refuses = 0
    refreshed: Any = client.mcp_servers.refresh(server.id)
    assert refreshed["added"] == ["wingspan"]
    with pytest.raises(NotFoundError):
        client.mcp_servers.retrieve(UNKNOWN)


BY_NAME = "/v1/tools/mcp/servers"


@pytest.mark.manifest(
    "mcp.by_name.list",
    "mcp.by_name.create",
    "mcp.by_name.test",
    "mcp.by_name.update",
    "mcp.by_name.delete",
    "mcp.by_name.resync",
    "mcp.by_name.tools",
    "mcp.by_name.run",
    "mcp.by_name.add_tool",
)
@pytest.mark.deployed
def test_the_older_routes_name_servers(http: httpx.Client, birds: McpService) -> None:
    flat = {"server_name": "old", "type": "streamable_http", "server_url": birds.url, "auth_token": TOKEN}
    tried = http.post(f"{BY_NAME}/test", json=flat).json()
    assert (tried["status"], [tool["name"] for tool in tried["tools"]]) == ("success", ["wingspan"])
    assert http.get(BY_NAME).json() == {}
    shown = {**flat, "auth_token": "********", "auth_header": None, "custom_headers": None}
    assert http.put(BY_NAME, json=flat).json() == [shown]
    assert http.put(BY_NAME, json=flat).status_code == 409
    assert http.get(BY_NAME).json() == {"old": shown}
    assert [tool["inputSchema"]["required"] for tool in http.get(f"{BY_NAME}/old/tools").json()] == [["species"]]
    run = http.post(f"{BY_NAME}/old/tools/wingspan/execute", json={"args": {"species": "kea"}})
    assert run.json() == {"result": "kea: 120 cm", "success": True}
    assert http.post(f"{BY_NAME}/old/tools/unknown/execute", json={}).status_code == 404
    birds.tool(lambda word: word, name="echo")
    assert http.post(f"{BY_NAME}/old/echo").json()["tags"] == ["mcp:old"]
    refused = http.post(f"{BY_NAME}/old/unknown")
    assert (refused.status_code, "wingspan, echo" in refused.json()["detail"]) == (400, True)
    assert http.post(f"{BY_NAME}/old/resync").json()["added"] == []
    changed = http.patch(f"{BY_NAME}/old", json={"server_name": "new", "custom_headers": {"x-room": "1"}}).json()
    assert (changed["server_name"], changed["custom_headers"]) == ("new", {"x-room": "********"})
    assert http.patch(f"{BY_NAME}/new", json={"custom_headers": {"host": "x"}}).status_code == 400
    assert http.put(BY_NAME, json={"server_name": "bad", "type": "sse"}).status_code == 422
    assert http.delete(f"{BY_NAME}/new").json() == []
    assert http.delete(f"{BY_NAME}/new").status_code == 404
