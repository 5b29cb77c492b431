"""MCP servers by their names: the older routes of V1 (Letta V1 API, API 3)."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hibernaut.domain.tools.mcp.mcp_results import McpListing
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.routers.tools.mcp_servers import RefreshQuery
from hibernaut.schemas.mcp.named_servers import (
    AnyMcpConfig,
    McpExecution,
    McpListedTool,
    McpServerByName,
    McpTrial,
    McpUpdateByName,
    flat_config,
)
from hibernaut.schemas.mcp.server import McpRefresh
from hibernaut.schemas.tools.tool import Tool, ToolRunRequest

router = APIRouter(prefix="/v1/tools/mcp/servers", tags=["MCP servers"], route_class=LazyRoute)


@router.get("", response_model=dict[str, AnyMcpConfig])
def map_mcp_servers(services: TheServices) -> Response:
    """All MCP servers, by their names."""
    return plain({server.server_name: flat_config(server).model_dump(mode="json") for server in services.mcp_servers.list()})


@router.put("", response_model=list[AnyMcpConfig])
def add_mcp_server(services: TheServices, caller: TheCaller, request: McpServerByName) -> Response:
    """Add an MCP server. Answers with all of them."""
    return replies(flat_config(server) for server in services.named_mcp_servers.add(request, user=caller.user_id))


@router.post("/test", response_model=McpTrial)
def test_mcp_server(services: TheServices, request: McpServerByName) -> Response:
    """Read the tools of an MCP server without storing it."""
    return reply(McpTrial(tools=_wire_tools(services.named_mcp_servers.tried(request))))


@router.patch("/{mcp_server_name}", response_model=AnyMcpConfig)
def update_named_mcp_server(services: TheServices, caller: TheCaller, mcp_server_name: str, request: McpUpdateByName) -> Response:
    """Change an MCP server."""
    return reply(flat_config(services.named_mcp_servers.update(mcp_server_name, request, user=caller.user_id)))


@router.delete("/{mcp_server_name}", response_model=list[AnyMcpConfig])
def delete_named_mcp_server(services: TheServices, caller: TheCaller, mcp_server_name: str) -> Response:
    """Delete an MCP server with its tools. Answers with the others."""
    return replies(flat_config(server) for server in services.named_mcp_servers.delete(mcp_server_name, key_id=caller.key_id))


@router.post("/{mcp_server_name}/resync", response_model=McpRefresh)
def resync_mcp_server(services: TheServices, caller: TheCaller, mcp_server_name: str, query: RefreshQuery) -> Response:
    """Read the tools of an MCP server again."""
    refreshed = services.named_mcp_servers.refresh(mcp_server_name, agent_id=query.agent_id, user=caller.user_id)
    return reply(refreshed)


@router.get("/{mcp_server_name}/tools", response_model=list[McpListedTool])
def list_tools_of_mcp_server(http_request: Request, services: TheServices, mcp_server_name: str) -> Response:
    """The tools that an MCP server lists now. Nothing is stored.

    It reaches out or starts a program, so pages of other origins may not send it, although it is a GET.
    """
    policy: OriginPolicy = http_request.app.state.policy
    policy.check_change(http_request.scope)
    return replies(_wire_tools(services.named_mcp_servers.listed(mcp_server_name)))


@router.post("/{mcp_server_name}/tools/{tool_name}/execute", response_model=McpExecution)
def execute_mcp_tool(
    services: TheServices, caller: TheCaller, mcp_server_name: str, tool_name: str, request: ToolRunRequest
) -> Response:
    """Call a tool of an MCP server once, without an agent."""
    return reply(services.named_mcp_servers.run(mcp_server_name, tool_name, request.args, key_id=caller.key_id))


@router.post("/{mcp_server_name}/{mcp_tool_name}", response_model=Tool)
def add_mcp_tool(services: TheServices, caller: TheCaller, mcp_server_name: str, mcp_tool_name: str) -> Response:
    """The stored tool of an MCP server, which is read again if it is not stored."""
    return reply(services.named_mcp_servers.add_tool(mcp_server_name, mcp_tool_name, user=caller.user_id))


def _wire_tools(listing: McpListing) -> list[McpListedTool]:
    return [McpListedTool(name=tool.name, description=tool.description, inputSchema=tool.schema) for tool in listing.tools]
