"""Moves MCP servers: first their tools, which keep their ids, then the servers, which take over the tools of their names.

A server is identified by its name, because a request that creates one has no id. An existing server on the target stays
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from hibernaut.local.migrating.api import RequestRefused
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.sources.source import MigrationSource, SourceMcpServer
from hibernaut.local.migrating.state import MigrationState
from hibernaut.local.migrating.target import Target
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

KIND = "mcp_servers"
OTHER = "The target has another MCP server with the name {name}, which stays as it is."


@immutable
class McpMoves:
    """Moves MCP servers. `load` imports the tools of a server. `served`: the ids of tools with servers on the target; it
    grows.
    """

    source: MigrationSource
    target: Target
    state: MigrationState
    report: MigrationReport
    load: Callable[[SourceMcpServer], None]
    served: set[str] = field(default_factory=set)

    def move(self) -> int:
        """Move all servers; returns how many were not moved before. Raises: CannotServe."""
        count, there = 0, self.target.mcp_servers()
        for server in self.source.mcp_servers():
            self.served.update(str(tool["id"]) for tool in server.tools)
            if self.state.moved(KIND, server.id) is None:
                count += self._moved(server, there)
        return count

    def _moved(self, server: SourceMcpServer, there: Mapping[str, JsonObject]) -> bool:
        self.load(server)
        found = there.get(server.name)
        if found is None:
            try:
                server_record = self.target.make_mcp_server(server.name, server.config)
            except RequestRefused as refused:
                self.report.found("lost", server.name, f"The target refuses the MCP server: {refused.detail}")
                self.served.difference_update(str(tool["id"]) for tool in server.tools)
                return False
            if problem := (server_record.get("last_sync") or {}).get("error"):
                why = f"The target has the MCP server and cannot read its tools now: {problem}. Refresh it when it answers."
                self.report.note("left_out", server.name, why)
        if server.unreadable and not is_other(found, server):
            self.report.note("left_out", server.name, unreadable_of(server))
        self.state.add(KIND, server.id, name=server.name, place=place_of(server.config))
        return True


def place_of(config: Mapping[str, object]) -> list[object]:
    """Where a server is: what must be the same on both sides."""
    return [config.get("server_url") or "", config.get("command") or ""]


def is_other(found: Mapping[str, object] | None, server: SourceMcpServer) -> bool:
    """Whether the target has another server of this name."""
    return found is not None and place_of(found) != place_of(server.config)


def unreadable_of(server: SourceMcpServer) -> str:
    """The note about secrets that the source does not return."""
    return f"The source does not show these secrets of the MCP server; set them again: {', '.join(server.unreadable)}."
