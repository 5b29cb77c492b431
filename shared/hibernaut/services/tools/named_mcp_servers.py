"""MCP servers by their names, as the older routes of V1 address them (Letta V1 API, API 3)."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.tools.mcp.mcp_results import McpListing
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.mcp.named_servers import McpExecution, McpServerByName, McpUpdateByName
from hibernaut.schemas.mcp.server import McpRefresh, StoredMcpServer
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.services.tools.mcp_servers import McpServers


class NamedMcpServers:
    """The use cases of MCP servers, by names."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def add(self, request: McpServerByName, *, user: str | None = None) -> Sequence[StoredMcpServer]:
        """Add a server. Returns all servers. Raises: as `McpServers.create`."""
        self._servers.create(request.request(), user=user)
        return self._servers.list()

    def tried(self, request: McpServerByName) -> McpListing:
        """The tools of a server that is not stored. Raises: InvalidArgument, McpServerUnavailable."""
        return self._servers.tried(request.request())

    def update(self, name: str, request: McpUpdateByName, *, user: str | None = None) -> StoredMcpServer:
        """Change a server. Raises: NotFound, and as `McpServers.update`."""
        server = self._servers.named(name)
        try:
            update_request = request.request(server.mcp_server_type)
        except ValueError as fault:
            raise InvalidArgument(f"INVALID_ARGUMENT: {fault}") from None
        return self._servers.update(server.id, update_request, user=user)

    def delete(self, name: str, *, key_id: str | None = None) -> Sequence[StoredMcpServer]:
        """Delete a server. Returns the others. Raises: NotFound, Conflict."""
        self._servers.delete(self._servers.named(name).id, key_id=key_id)
        return self._servers.list()

    def refresh(self, name: str, *, agent_id: str | None = None, user: str | None = None) -> McpRefresh:
        """Read the tools of a server again. Raises: NotFound, McpServerUnavailable, Conflict."""
        return self._servers.refresh(self._servers.named(name).id, agent_id=agent_id, user=user)

    def listed(self, name: str) -> McpListing:
        """The tools that a server lists now; nothing is stored. Raises: NotFound, McpServerUnavailable."""
        return self._servers.listing(self._servers.named(name))

    def add_tool(self, name: str, tool_name: str, *, user: str | None = None) -> StoredTool:
        """The stored tool of this name on a server. If it is not stored, the server is read again.

        Raises: NotFound (the server), InvalidArgument (the tool), McpServerUnavailable, Conflict.
        """
        server = self._servers.named(name)
        left_out = ""
        if tool_name not in server.tools:
            refreshed = self._servers.refresh(server.id, user=user)
            left_out = next((f": {each.reason}" for each in refreshed.left_out if each.name == tool_name), "")
            server = self._servers.named(name)
        if tool_name not in server.tools:
            tool_names = ", ".join(list(server.tools)[:50])
            raise InvalidArgument(
                f"INVALID_ARGUMENT: There is no tool {tool_name} of the MCP server {name}{left_out}. Its tools: {tool_names}"
            )
        return self._servers.tool(server.id, server.tools[tool_name])

    def run(self, name: str, tool_name: str, args: JsonObject, *, key_id: str | None = None) -> McpExecution:
        """Call a tool once, by its name on the server or here. Raises: NotFound."""
        server = self._servers.named(name)
        tool_id = server.tools.get(tool_name) or next(
            (tool.id for tool in self._servers.tools(server.id) if tool.name == tool_name), None
        )
        if tool_id is None:
            raise NotFound(f"There is no tool {tool_name} of the MCP server {name}: refresh it, if it is new.")
        result = self._servers.run(server.id, tool_id, args, key_id=key_id)
        returned = result.func_return if result.status == "success" else "\n".join(result.stderr or [])
        return McpExecution(result=str(returned), success=result.status == "success")
