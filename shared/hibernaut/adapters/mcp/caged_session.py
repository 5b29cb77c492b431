"""One session with a program, performed within the sandbox of custom tools, where this module is imported by the source in `programs`."""

from __future__ import annotations

from dataclasses import asdict

from hibernaut.adapters.door import Door
from hibernaut.adapters.mcp.client import McpClient
from hibernaut.ports.mcp import McpCall, McpFailure, StdioMcpTarget
from hibernaut.schemas.base import JsonObject


def performed(asked: JsonObject) -> JsonObject:
    """The listing or the result of a session, or its failure, as JSON."""
    target = StdioMcpTarget(asked["command"], tuple(asked["args"]), asked["env"])
    client, call = McpClient(Door(), programs=True), asked["call"]
    try:
        if call is None:
            return asdict(client.tools(target, seconds=asked["seconds"]))
        return asdict(client.call(target, McpCall(call["name"], call["args"], call["fingerprint"]), seconds=asked["seconds"]))
    except McpFailure as failure:
        return {"failure": [failure.problem, str(failure)]}
