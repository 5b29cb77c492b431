"""One session with a program, performed within the sandbox of custom tools, where this module is imported by the source in
`programs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from hibernaut.adapters.door import Door
from hibernaut.adapters.mcp.client import McpClient
from hibernaut.ports.tools.mcp import McpCall, McpFailure, StdioMcpTarget
from hibernaut.schemas.base import JsonObject

LOOK = 0.1
"""Seconds between two questions whether a call is still wanted: asking costs no more than a system call."""


def performed(request: JsonObject, wanted: Callable[[], bool]) -> JsonObject:
    """The listing or the result of a session, or its failure, as JSON. `wanted`: whether the call still is."""
    target = StdioMcpTarget(request["command"], tuple(request["args"]), request["env"])
    client, call = McpClient(Door(), programs=True, look=LOOK), request["call"]
    try:
        if call is None:
            return asdict(client.tools(target, seconds=request["seconds"]))
        mcp_call = McpCall(call["name"], call["args"], call["fingerprint"], wanted)
        return asdict(client.call(target, mcp_call, seconds=request["seconds"]))
    except McpFailure as failure:
        return {"failure": [failure.problem, str(failure)]}
