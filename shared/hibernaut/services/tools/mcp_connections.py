"""Connecting to MCP servers that ask for authorization: try the server, and if it refuses, ask its user (RT 10.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hibernaut.domain.tools.mcp.oauth import OAuthFault
from hibernaut.ports.tools.mcp import McpFailure
from hibernaut.ports.tools.oauth import OAuthUnreachable
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.mcp.faults import McpServerUnavailable
from hibernaut.schemas.mcp.oauth import FlowStatus
from hibernaut.schemas.mcp.server import CreateMcpServer, CreateStdioMcpServer, McpServerType
from hibernaut.services.mcp.oauth_flows import BegunFlow, OAuthFlows
from hibernaut.services.tools.mcp_servers import McpServers


@immutable
class ConnectedServer:
    """A server whose tools could be read."""

    tools: Sequence[JsonObject]


ConnectionAttempt = ConnectedServer | BegunFlow


class McpConnections:
    """The use cases of one tenant."""

    def __init__(self, servers: McpServers, flows: OAuthFlows) -> None:
        self._servers = servers
        self._flows = flows

    def name_of(self, server_id: str) -> str:
        """The name of a stored server. Raises: NotFound."""
        return self._servers.retrieve(server_id).server_name

    def stored(self, server_id: str, callback: str, *, user: str | None = None) -> ConnectionAttempt:
        """Read the tools of a stored server, or begin its authorization. `callback`: the address at which users answer.

        Raises: NotFound, McpServerUnavailable, Conflict, MasterKeyUnavailable.
        """
        server = self._servers.retrieve(server_id)

        def read() -> ConnectedServer:
            self._servers.refresh(server_id, user=user)
            found = self._servers.tools(server_id)
            return ConnectedServer([_shown(tool.name, tool.description, tool.json_schema) for tool in found])

        own = server.has_token or any(name.lower() == "authorization" for name in server.header_names)
        address = None if own or server.mcp_server_type is McpServerType.STDIO else server.server_url
        return self._tried(server.server_name, address, callback, read)

    def unsaved(self, request: CreateMcpServer, callback: str) -> ConnectionAttempt:
        """The same for a server that is not stored: a server that is stored later with the same address is authorized by it."""

        def read() -> ConnectedServer:
            listing = self._servers.tried(request)
            return ConnectedServer([_shown(tool.name, tool.description, {"parameters": tool.schema}) for tool in listing.tools])

        config = request.config
        own = isinstance(config, CreateStdioMcpServer) or bool(config.auth_token or config.custom_headers)
        return self._tried(request.server_name, None if own else getattr(config, "server_url", None), callback, read)

    def _tried(self, name: str, address: str | None, callback: str, read: Callable[[], ConnectedServer]) -> ConnectionAttempt:
        try:
            return read()
        except McpServerUnavailable as error:
            failure = error.__cause__
            if address is None or not isinstance(failure, McpFailure) or failure.problem != "unauthorized":
                raise
            challenge = failure.challenge
        try:
            return self._flows.begin(address, challenge, callback)
        except (OAuthFault, OAuthUnreachable) as fault:
            raise McpServerUnavailable(f"The MCP server {name} cannot be authorized: {fault}.", name, str(fault)) from None

    def look(self, digest: str) -> tuple[FlowStatus, str | None]:
        """What has become of an authorization."""
        return self._flows.look(digest)

    def answer(self, state: str, parameters: Mapping[str, str]) -> None:
        """Take the answer of a user. Raises: OAuthFault, MasterKeyUnavailable."""
        self._flows.answer(state, parameters)


def _shown(name: str | None, description: str | None, schema: Mapping[str, object] | None) -> JsonObject:
    return {"name": name, "description": description or "", "inputSchema": (schema or {}).get("parameters")}
