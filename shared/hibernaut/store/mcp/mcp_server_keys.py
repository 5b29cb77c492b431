"""The keys of MCP servers (`store.mcp.mcp_servers`).

pk               sk        what                                                      read by
t#MCPSERVERS     server    an MCP server: its address, its sealed secrets, its tools  each call of its tools; list, retrieve
t#MCPSERVERNAMES name      the server with this name                                  tools of agent files; the older routes
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked


def mcp_server(tenant: str, server_id: str) -> Key:
    return Key(f"{checked(tenant)}#MCPSERVERS", server_id)


def mcp_server_name(tenant: str, name: str) -> Key:
    return Key(f"{checked(tenant)}#MCPSERVERNAMES", name)
