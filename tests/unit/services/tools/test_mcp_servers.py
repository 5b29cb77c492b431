"""MCP servers and their tools over the stores: what is stored of a listing, what agents keep, and that a call is made at most
once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hibernaut.domain.tools.mcp.mcp_results import McpBinary, McpResult, McpText
from hibernaut.domain.window.open_calls import INTERRUPTED
from hibernaut.ports.storage.table import Change, Contended, Item, Key, Table
from hibernaut.ports.tools.mcp import HttpMcpTarget, McpFailure
from hibernaut.schemas.content import Base64Image
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.mcp.server import MASK, MOST_TOOLS, CreateMcpServer, StoredMcpServer, UpdateMcpServer
from hibernaut.schemas.tools.tool import StoredTool, ToolType
from hibernaut.services.records import records_over
from hibernaut.services.tools.adhoc_tool_runs import AdhocToolRuns
from hibernaut.services.tools.mcp_servers import McpServers
from hibernaut.services.tools.tools import Tools
from tests.support.pictures import encoded, png
from tests.support.scripted_mcp import ProcessDied, ScriptedMcp
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import PassesOn
from tests.support.world import World, data_in

URL = "https://birds.example/mcp"
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


class PlainCipher:
    """Seals by reversing, bound to its context."""

    def seal(self, plain: bytes, context: Any) -> bytes:
        return str(sorted(context.items())).encode() + b"|" + plain[::-1]

    def unseal(self, sealed: bytes, context: Any) -> bytes:
        place, _, plain = sealed.partition(b"|")
        assert place == str(sorted(context.items())).encode()
        return plain[::-1]


@dataclass
class House:
    world: World
    mcp: ScriptedMcp
    servers: McpServers

    def add(self, name: str = "birds", **config: Any) -> StoredMcpServer:
        flat = {"mcp_server_type": "streamable_http", "server_url": URL, **config}
        return self.servers.create(CreateMcpServer.model_validate({"server_name": name, "config": flat}))

    def change(self, server: StoredMcpServer, **fields: Any) -> StoredMcpServer:
        return self.servers.update(server.id, UpdateMcpServer.model_validate(fields))

    def tools(self, server: StoredMcpServer) -> dict[str, StoredTool]:
        return {str(tool.name): tool for tool in self.servers.tools(server.id)}

    def agent(self, *names: str) -> str:
        agent_id = self.world.make_agent(tools=names)
        tools = self.world.stores.tools.by_name(names).values()
        links = [change for tool in tools for change in self.world.stores.tools.attach(tool.id, agent_id)]
        self.world.stores.writer.write(*links)
        return agent_id


class SilentReads(PassesOn):
    """Reads no item as long as it is `silent`."""

    silent = False

    def get(self, key: Key) -> Item | None:
        if self.silent:
            raise Contended("throttled")
        return super().get(key)


class DiesAfterTheResult(PassesOn):
    """The process dies when it has stored the result of a call, before it commits the step."""

    def __init__(self, table: Table, mcp: ScriptedMcp) -> None:
        super().__init__(table)
        self._mcp = mcp
        self._stored = False

    def write(self, *changes: Change) -> None:
        if self._stored:
            raise ProcessDied
        super().write(*changes)
        self._stored = bool(self._mcp.calls)


def house(folder: Path, *replies: Any, mcp: ScriptedMcp | None = None, holder: str = "host:1", **parts: Any) -> House:
    mcp = mcp or ScriptedMcp({"get": OBJECT})
    world = World(data_in(folder, in_turn(*replies)), holder=holder, host={"mcp": mcp, "cipher": PlainCipher()}, **parts)
    records = records_over(world.stores, world.clock, world.ids)
    chain = world.chain
    runs = AdhocToolRuns(world.stores, world.host, records, loader=chain.loader, calls=chain.calls, runner=chain.runner)
    tools = Tools(records, runs=runs, packages=None)  # type: ignore[arg-type]  # no tool here requires a package
    return House(world, mcp, world.chain.mcp(tools).servers)


def test_tools_beyond_the_limit_are_left_out_and_told(tmp_path: Path) -> None:
    at = house(tmp_path, mcp=ScriptedMcp({f"t{number:04}": OBJECT for number in range(MOST_TOOLS + 30)}, more=True))
    server = at.add()
    assert server.last_sync is not None
    assert (len(server.tools), server.last_sync.tools, len(server.last_sync.left_out)) == (MOST_TOOLS, MOST_TOOLS, 31)
    assert server.last_sync.left_out[-1].name == "*"
    assert at.servers.refresh(server.id).added == []


def test_a_schema_that_no_model_takes_costs_its_tool_alone(tmp_path: Path) -> None:
    at = house(tmp_path, mcp=ScriptedMcp({"good": OBJECT, "bad": {"type": "string"}, "none": None}))
    server = at.add()
    assert list(server.tools) == ["good"]
    assert server.last_sync is not None
    assert {each.name: "cannot be offered" in each.reason for each in server.last_sync.left_out} == {"bad": True, "none": True}


def test_equal_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    at = house(tmp_path, says("done"))
    at.world.make_agent(tools=["get"])
    one, two = at.add("one"), at.add("two")
    assert (list(at.tools(one)), list(at.tools(two))) == (["one_get"], ["two_get"])
    assert at.servers.run(one.id, one.tools["get"], {}).func_return == "get done"
    assert at.servers.refresh(two.id) == at.servers.refresh(two.id)
    assert list(at.tools(two)) == ["two_get"]
    assert [tool.tool_type for tool in at.world.stores.tools.by_name(["get"]).values()] == [ToolType.CUSTOM]


def test_a_refresh_says_what_it_did_and_agents_keep_their_tools(tmp_path: Path) -> None:
    at = house(tmp_path, mcp=ScriptedMcp({"get": OBJECT, "put": OBJECT, "old": OBJECT}))
    server = at.add()
    ids = dict(server.tools)
    at.agent("put")
    at.mcp.schemas = {"get": {**OBJECT, "required": []}, "new": OBJECT}
    changed = at.servers.refresh(server.id)
    assert (changed.added, changed.updated, changed.deleted, changed.missing) == (["new"], ["get"], ["old"], ["put"])
    after = at.tools(server)
    assert {name: after[name].id for name in ("get", "put")} == {name: ids[name] for name in ("get", "put")}
    assert after["put"].metadata_ is not None
    assert after["put"].metadata_["mcp"]["state"] == "missing"
    refused = at.servers.run(server.id, ids["put"], {})
    assert (refused.status, "does not have the tool put any more" in str(refused.stderr), at.mcp.calls) == ("error", True, [])
    at.mcp.more = True
    assert at.servers.refresh(server.id).missing == [], "it may be among those that were not read"
    at.mcp.schemas["put"] = OBJECT
    assert at.servers.refresh(server.id).updated == ["put"]
    assert at.servers.run(server.id, ids["put"], {}).status == "success"


def test_a_changed_tool_is_marked_and_refused_until_it_is_refreshed(tmp_path: Path) -> None:
    at = house(tmp_path)
    server = at.add()
    at.mcp.fails = McpFailure("changed", "it changed")
    first = at.servers.run(server.id, server.tools["get"], {})
    assert "has changed the arguments of the tool get" in str(first.stderr)
    metadata = at.tools(server)["get"].metadata_ or {}
    assert (metadata["mcp"]["state"], metadata["mcp"]["tool_name"]) == ("changed", "get")
    at.mcp.fails = None
    assert at.servers.run(server.id, server.tools["get"], {}).status == "error"
    assert at.servers.refresh(server.id).updated == ["get"]
    assert at.servers.run(server.id, server.tools["get"], {}).status == "success"


def test_a_tool_of_an_agent_file_becomes_that_of_the_server_with_its_name(tmp_path: Path) -> None:
    at = house(tmp_path, calls(("get", {})), says("no"), calls(("get", {})), says("done"))
    imported = StoredTool(
        id=at.world.ids.new("tool"),
        tool_type=ToolType.EXTERNAL_MCP,
        name="get",
        json_schema={"name": "get", "parameters": OBJECT},
        tags=["mcp:birds"],
        created_at=at.world.clock.now(),
    )
    at.world.stores.writer.write(*at.world.stores.tools.create(imported, "t"), token="t")
    agent_id = at.agent("get")
    at.world.send(agent_id, "Get it.")
    server = at.add("birds")
    assert server.tools == {"get": imported.id}
    at.world.send(agent_id, "Get it now.")
    told = [row.text() for row in at.world.log(agent_id) if row.role == "tool"]
    assert ["does not exist here" in told[0], "get done" in told[1]] == [True, True]


def test_what_a_server_says_of_approvals_is_said_of_its_tools(tmp_path: Path) -> None:
    at = house(tmp_path)
    server = at.change(at.add(), default_requires_approval=True)
    assert at.tools(server)["get"].default_requires_approval
    at.mcp.schemas["new"] = OBJECT
    at.servers.refresh(server.id)
    assert at.tools(server)["new"].default_requires_approval


def test_secrets_are_sealed_filled_and_sent_nowhere_else(tmp_path: Path) -> None:
    at = house(tmp_path)
    server = at.add(auth_token="planted-token", auth_header="X-Key:", custom_headers={"X-Room": "'7'"})
    assert "planted-token" not in server.model_dump_json()
    assert isinstance(target := at.mcp.targets[-1], HttpMcpTarget)
    assert target.headers == {"x-key": "planted-token", "x-room": "7"}
    assert "planted-token" not in repr(target)
    moved = {"mcp_server_type": "streamable_http", "server_url": "https://other.example/mcp"}
    with pytest.raises(InvalidArgument, match="Send the token"):
        at.change(server, config=moved)
    with pytest.raises(InvalidArgument, match="Send the token"):
        at.change(server, config={**moved, "auth_token": MASK, "custom_headers": {}})
    kept = at.change(server, config={"mcp_server_type": "sse", "custom_headers": {"X-Room": MASK, "X-Own": "{{ OWN }}"}})
    assert (kept.has_token, kept.header_names) == (True, ["X-Room", "X-Own"])
    with pytest.raises(NotFound, match="needs the variable OWN"):
        at.servers.refresh(kept.id)
    gone = at.change(server, config={"mcp_server_type": "streamable_http", "auth_token": "", "custom_headers": {}})
    assert (gone.has_token, gone.header_names, gone.sealed) == (False, [], None)
    assert at.change(gone, config=moved).server_url == "https://other.example/mcp"


def test_names_are_unique_and_a_deletion_takes_the_tools(tmp_path: Path) -> None:
    at = house(tmp_path)
    server = at.add("birds")
    with pytest.raises(Conflict, match="birds"):
        at.add("birds")
    with pytest.raises(Conflict, match="birds"):
        at.change(at.add("other"), server_name="birds")
    agent_id = at.agent("get")
    at.servers.delete(server.id)
    agent = at.world.stores.agents.get(agent_id)
    assert agent is not None
    assert agent.tool_ids == []
    assert at.world.stores.tools.by_name(["get"]) == {}
    assert at.add("birds").server_name == "birds"


def test_a_call_whose_process_dies_is_not_made_again(tmp_path: Path) -> None:
    at = house(tmp_path, calls(("get", {})), says("done"))
    at.add()
    agent_id = at.agent("get")
    at.mcp.dies = True
    with pytest.raises(ProcessDied):
        at.world.send(agent_id, "Get it.")
    at.mcp.dies = False
    after = World(at.world.data, holder="host:2", host={"mcp": at.mcp, "cipher": PlainCipher()})
    after.sweep()
    (returned,) = [row for row in after.log(agent_id) if row.role == "tool"]
    assert (len(at.mcp.calls), INTERRUPTED in returned.text()) == (1, True)


@pytest.mark.parametrize("failed", [False, True])
def test_an_image_of_a_result_is_shown_to_the_model(tmp_path: Path, *, failed: bool) -> None:
    at = house(tmp_path, calls(("get", {})), says("I see."))
    at.add()
    agent_id = at.agent("get")
    at.mcp.result = McpResult((McpText("Here:"), McpBinary("image", "image/png", 1, data=encoded(png()))), failed)
    at.world.send(agent_id, "Get it.")
    rows = at.world.data.models.requests[-1].messages
    ((returned,),) = [row.tool_returns for row in rows if row.role == "tool"]
    assert [image.source for image in returned.images] == [Base64Image(media_type="image/png", data=encoded(png()))]
    assert (returned.status, "Here:" in (returned.func_response or "")) == ("error" if failed else "success", True)


def test_an_image_outlives_the_process_that_made_the_call(tmp_path: Path) -> None:
    """The call is not made again, and its image is that of the claim."""
    mcp = ScriptedMcp({"get": OBJECT}, result=McpResult((McpBinary("image", "image/png", 1, data=encoded(png())),)))
    at = house(tmp_path, calls(("get", {})), says("I see."), mcp=mcp)
    at.add()
    agent_id = at.agent("get")
    table = at.world.data.table
    dying = World(
        replace(at.world.data, table=DiesAfterTheResult(table, mcp)), holder="host:1", host={"mcp": mcp, "cipher": PlainCipher()}
    )
    with pytest.raises(ProcessDied):
        dying.send(agent_id, "Get it.")
    after = World(at.world.data, holder="host:2", host={"mcp": mcp, "cipher": PlainCipher()})
    after.sweep()
    ((returned,),) = [row.tool_returns for row in after.log(agent_id) if row.role == "tool"]
    assert (len(mcp.calls), len(returned.images)) == (1, 1)


def test_a_call_stays_wanted_while_nobody_can_say_whether_its_run_has_ended(tmp_path: Path) -> None:
    tables: list[SilentReads] = []

    def wrap(table: Any) -> SilentReads:
        tables.append(SilentReads(table))
        return tables[-1]

    at = house(tmp_path, calls(("get", {})), says("done"), wrap=wrap)
    at.add()
    at.world.send(at.agent("get"), "Get it.")
    (call,) = at.mcp.calls
    assert not call.wanted()
    for table in tables:
        table.silent = True
    assert call.wanted()
