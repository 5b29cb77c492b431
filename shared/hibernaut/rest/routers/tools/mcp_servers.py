"""MCP servers and their tools (Letta V1 API, API 2.14)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import nothing, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.base import Schema
from hibernaut.schemas.ids import AgentId, ToolId
from hibernaut.schemas.mcp.server import AnyMcpServer, CreateMcpServer, McpRefresh, McpServerId, UpdateMcpServer
from hibernaut.schemas.tools.tool import Tool, ToolExecutionResult, ToolRunRequest

router = APIRouter(prefix="/v1/mcp-servers", tags=["MCP servers"], route_class=LazyRoute)


class RefreshMcpServer(Schema):
    """The query of a refresh. `agent_id`: the agent whose secrets fill the variables in the server's headers."""

    agent_id: AgentId | None = None


RefreshQuery = Annotated[RefreshMcpServer, Query()]


@router.post("", response_model=AnyMcpServer)
def create_mcp_server(services: TheServices, caller: TheCaller, request: CreateMcpServer) -> Response:
    """Add an MCP server, and read its tools. If they cannot be read, `last_sync` says why. Secrets are encrypted and never shown
    again.
    """
    return reply(services.mcp_servers.create(request, user=caller.user_id).wire())


@router.get("", response_model=list[AnyMcpServer])
def list_mcp_servers(services: TheServices) -> Response:
    """All MCP servers."""
    return replies(server.wire() for server in services.mcp_servers.list())


@router.get("/{mcp_server_id}", response_model=AnyMcpServer)
def retrieve_mcp_server(services: TheServices, mcp_server_id: McpServerId) -> Response:
    """One MCP server."""
    return reply(services.mcp_servers.retrieve(mcp_server_id).wire())


@router.patch("/{mcp_server_id}", response_model=AnyMcpServer)
def update_mcp_server(services: TheServices, caller: TheCaller, mcp_server_id: McpServerId, request: UpdateMcpServer) -> Response:
    """Change the fields that the request sets. A null changes nothing. A new address needs the secrets again."""
    return reply(services.mcp_servers.update(mcp_server_id, request, user=caller.user_id).wire())


@router.delete("/{mcp_server_id}", status_code=204)
def delete_mcp_server(services: TheServices, caller: TheCaller, mcp_server_id: McpServerId) -> Response:
    """Delete an MCP server with its tools, which are detached from all agents."""
    services.mcp_servers.delete(mcp_server_id, key_id=caller.key_id)
    return nothing()


@router.patch("/{mcp_server_id}/refresh", response_model=McpRefresh)
def refresh_mcp_server(services: TheServices, caller: TheCaller, mcp_server_id: McpServerId, query: RefreshQuery) -> Response:
    """Read the tools of an MCP server again. Agents keep theirs."""
    return reply(services.mcp_servers.refresh(mcp_server_id, agent_id=query.agent_id, user=caller.user_id))


@router.get("/{mcp_server_id}/tools", response_model=list[Tool])
def list_mcp_tools(services: TheServices, mcp_server_id: McpServerId) -> Response:
    """The tools of an MCP server, as they were read last."""
    return replies(services.mcp_servers.tools(mcp_server_id))


@router.get("/{mcp_server_id}/tools/{tool_id}", response_model=Tool)
def retrieve_mcp_tool(services: TheServices, mcp_server_id: McpServerId, tool_id: ToolId) -> Response:
    """One tool of an MCP server."""
    return reply(services.mcp_servers.tool(mcp_server_id, tool_id))


@router.post("/{mcp_server_id}/tools/{tool_id}/run", response_model=ToolExecutionResult)
def run_mcp_tool(
    services: TheServices, caller: TheCaller, mcp_server_id: McpServerId, tool_id: ToolId, request: ToolRunRequest
) -> Response:
    """Call a tool of an MCP server once, without an agent."""
    return reply(services.mcp_servers.run(mcp_server_id, tool_id, request.args, key_id=caller.key_id))
