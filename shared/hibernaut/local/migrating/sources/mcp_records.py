"""MCP servers of a source: as V1's API shows them, and as its table has them. Knows no source and no target.

V1 shows tokens and headers in clear; a server of this project shows `********` in their place. The table has them in clear
(`token`, `custom_headers`) or encrypted with a key of the old server (`token_enc`, `custom_headers_enc`), and programs as
`stdio_config`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.local.migrating.sources.source import SourceMcpServer
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.mcp.server import MASK

TAG = "mcp:"
"""The prefix of the tag by which a tool names its server (RT 10.8)."""
PROGRAM = ("command", "args", "env")
ADDRESS = ("server_url", "auth_header", "auth_token", "custom_headers")


def server_from_api(listing: JsonObject, tools: Sequence[JsonObject]) -> SourceMcpServer:
    """A server from the API's form of it. `tools`: the tools of all servers."""
    kind = str(listing.get("mcp_server_type") or "streamable_http")
    fields = {name: listing.get(name) for name in (PROGRAM if kind == "stdio" else ADDRESS)}
    return _server(listing, kind, fields, (), tools)


def server_from_row(row: JsonObject, tools: Sequence[JsonObject]) -> SourceMcpServer:
    """A server from its row. `tools`: the tools of all servers."""
    kind = str(row.get("server_type") or "streamable_http").lower()
    program = row.get("stdio_config") or {}
    plain = {"server_url": row.get("server_url"), "auth_token": row.get("token"), "custom_headers": row.get("custom_headers")}
    fields = {name: program.get(name) for name in PROGRAM} if kind == "stdio" else plain
    sealed = {"auth_token": "token", "custom_headers": "custom_headers"}
    unreadable = [field for field, name in sealed.items() if kind != "stdio" and row.get(f"{name}_enc") and not row.get(name)]
    return _server(row, kind, fields, unreadable, tools)


def _server(
    row: JsonObject, kind: str, fields: JsonObject, unreadable: Sequence[str], tools: Sequence[JsonObject]
) -> SourceMcpServer:
    name = str(row.get("server_name") or row["id"])
    config: JsonObject = {"mcp_server_type": kind}
    lost = list(unreadable)
    for field, value in fields.items():
        if isinstance(value, dict):
            config[field] = {one: item for one, item in value.items() if item != MASK}
            lost += [f"{field}.{one}" for one, item in value.items() if item == MASK]
        elif value == MASK:
            lost.append(field)
        elif value not in (None, ""):
            config[field] = value
    own = [tool for tool in tools if server_of(tool) == name]
    return SourceMcpServer(str(row["id"]), name, config, lost, own)


def server_of(tool: JsonObject) -> str | None:
    """The name of the server that a tool names; None for one of no server."""
    tags: Json = tool.get("tags") or ()
    return next((str(tag).removeprefix(TAG) for tag in tags if str(tag).startswith(TAG)), None)
