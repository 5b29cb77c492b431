"""Calls of MCP tools and who stops them: people who approve, cancelled runs, tool policies (API 2.14; RT 10.8)."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest
from letta_client import Letta
from mcp_types import ImageContent

from tests.compat.conftest import Make, Said, calls
from tests.compat.replies import returns
from tests.support.mcp_service import McpService
from tests.support.page_programs import program_of
from tests.support.pictures import encoded, png
from tests.support.provider_servers import ScriptedOpenAI

PATIENCE = 60.0
"""Seconds after which a call that should begin or end is stuck."""
FLY = ("fly", {"height": 3})
PHOTO = encoded(png(noise=random.Random(1).randbytes(600_000)))
DENIED = "Nobody disturbs these birds."


class Nest:
    """The tools of a server: what they were called with, and what became of the call that waits."""

    def __init__(self) -> None:
        self.flown: list[int] = []
        self.waiting, self.cancelled = threading.Event(), threading.Event()

    def fly(self, height: int) -> str:
        """Flies."""
        self.flown.append(height)
        return f"{height} m"

    def photo(self) -> ImageContent:
        """Takes a photo, whose body is too large for an item of a table."""
        return ImageContent(type="image", data=PHOTO, mime_type="image/png")

    async def brood(self) -> str:
        """Broods without an end."""
        self.waiting.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        return "never"


@pytest.fixture
def nest() -> Nest:
    return Nest()


@pytest.fixture
def birds(nest: Nest) -> Iterator[McpService]:
    with McpService() as service:
        service.tool(nest.fly)
        service.tool(nest.brood)
        service.tool(nest.photo)
        yield service


@pytest.fixture(scope="module", autouse=True)
def denied(http: httpx.Client) -> str:
    """The policy of the module, which stands before its first turn, because other processes follow a change within seconds."""
    policy = {"name": "closed birds", "action": "deny", "servers": ["closed*"], "message": DENIED}
    made = http.post("/v1/tool-policies", json=policy)
    assert made.status_code == 200, made.text
    return str(made.json()["id"])


@pytest.fixture
def tools(client: Letta, birds: McpService, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The tools by name, of a server that has the name and the further fields of the test's parameter."""
    name, fields = getattr(request, "param", ("birds", {}))
    config: Any = {"mcp_server_type": "streamable_http", "server_url": birds.url}
    server: Any = client.mcp_servers.create(server_name=name, config=config, extra_body=fields)
    yield {"server": server.id, **{str(tool.name): tool.id for tool in client.mcp_servers.tools.list(server.id)}}
    client.mcp_servers.delete(server.id)


def answer(client: Letta, agent_id: str, *, approve: bool) -> Any:
    given = {"type": "approval", "tool_call_id": "call_1", "approve": approve}
    return client.agents.messages.create(agent_id, messages=[{"type": "approval", "approvals": [given]}])  # type: ignore[list-item,typeddict-item]


@pytest.mark.manifest("mcp.calls")
@pytest.mark.parametrize("tools", [("careful", {"default_requires_approval": True})], indirect=True)
@pytest.mark.deployed
def test_a_tool_of_a_server_whose_calls_need_an_approval_is_called_after_the_yes_alone(
    client: Letta, nest: Nest, tools: dict[str, Any], new_agent: Make, said: Said
) -> None:
    agent = new_agent(tool_ids=[tools["fly"]], include_base_tools=False)
    for approve, told, flown in ((False, "error", []), (True, "success", [3])):
        said.next(calls(FLY), {"content": "I see."})
        asked = client.agents.messages.create(agent.id, input="Fly!")
        assert asked.stop_reason.stop_reason == "requires_approval"
        assert nest.flown == []
        answered = answer(client, agent.id, approve=approve)
        assert [status for status, _ in returns(answered)] == [told]
        assert nest.flown == flown


@pytest.mark.manifest("mcp.calls")
@pytest.mark.deployed
def test_cancelling_a_run_cancels_its_call_on_the_server(
    client: Letta, nest: Nest, tools: dict[str, Any], new_agent: Make, said: Said
) -> None:
    agent = new_agent(tool_ids=[tools["brood"]], include_base_tools=False)
    said.next(calls(("brood", {})), {"content": "Not asked."})
    run = client.agents.messages.create_async(agent.id, input="Brood.")
    assert nest.waiting.wait(PATIENCE)
    assert client.agents.messages.cancel(agent.id, run_ids=[run.id]) == {run.id: "cancelled"}
    assert nest.cancelled.wait(PATIENCE)
    assert client.runs.retrieve(run.id).status == "cancelled"


@pytest.mark.manifest("mcp.calls")
@pytest.mark.deployed
def test_a_photo_of_a_tool_is_shown_to_the_model_and_to_clients(
    client: Letta, tools: dict[str, Any], new_agent: Make, said: Said, provider: ScriptedOpenAI
) -> None:
    agent = new_agent(tool_ids=[tools["photo"]], include_base_tools=False)
    said.next(calls(("photo", {})), {"content": "A bird."})
    client.agents.messages.create(agent.id, input="Take a photo.")
    assert PHOTO in json.dumps(provider.requests[-1].body)
    listed = client.agents.messages.list(agent.id, order="desc")
    returned: Any = next(each for each in listed if each.message_type == "tool_return_message")
    text, image = returned.tool_returns[0].tool_return
    assert text.text.startswith("[image 1: image of the type image/png, 2 by 3 pixels")
    assert image.source.data == PHOTO


@pytest.mark.manifest("tool_policies.deny", "tool_policies.record")
@pytest.mark.parametrize("tools", [("closed", {})], indirect=True)
@pytest.mark.deployed
def test_requests_do_not_get_around_a_policy_for_a_server(
    client: Letta, http: httpx.Client, nest: Nest, tools: dict[str, Any], denied: str
) -> None:
    tried = client.mcp_servers.tools.run(tools["fly"], mcp_server_id=tools["server"], args=FLY[1])
    assert (tried.status, tried.func_return, tried.stderr) == ("error", None, [DENIED])
    named = http.post("/v1/tools/mcp/servers/closed/tools/fly/execute", json={"args": FLY[1]})
    assert named.json() == {"result": DENIED, "success": False}
    assert nest.flown == []
    found = http.get("/v1/tool-calls", params={"policy_id": denied}).json()
    shown = [(each["tool"], each["server"], each["outcome"], each["source"]) for each in found]
    assert shown == [("fly", "closed", "denied", "api")] * 2


def test_the_program_of_the_page_runs(client: Letta, capsys: pytest.CaptureFixture[str]) -> None:
    def wingspan(species: str) -> str:
        """Tells the wingspan of a bird."""
        return f"{species}: 120 cm"

    program, printed = program_of("tools.md", "test_mcp_calls.py")
    names: dict[str, Any] = {"client": client}
    with McpService() as birds:
        birds.tool(wingspan)
        exec(program.replace("https://birds.example/mcp", birds.url), names)
        client.mcp_servers.delete(names["server"].id)
    assert capsys.readouterr().out.strip() == printed
    assert {one.get("authorization") for one in birds.seen} == {"Bearer mcp-token"}
