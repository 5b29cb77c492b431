"""A scripted client of MCP servers: it lists what a test says, and notes each call. Its targets are what real ones would connect
to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hibernaut.domain.tools.mcp.mcp_results import ListedMcpTool, McpListing, McpResult, McpText
from hibernaut.ports.tools.mcp import McpCall, McpFailure, McpTarget


class ProcessDied(BaseException):
    """The process, in the middle of a call."""


@dataclass
class ScriptedMcp:
    """`schemas`: of the tools that every server lists. `fails`: the failure of each session. `dies`: the process dies in the
    middle of a call.
    `result`: of each call; None: a text with the tool's name.
    """

    schemas: dict[str, Any] = field(default_factory=dict)
    more: bool = False
    fails: McpFailure | None = None
    dies: bool = False
    result: McpResult | None = None
    calls: list[McpCall] = field(default_factory=list)
    targets: list[McpTarget] = field(default_factory=list)

    def tools(self, target: McpTarget, *, seconds: float) -> McpListing:  # noqa: ARG002  as the port
        self.targets.append(target)
        if self.fails is not None:
            raise self.fails
        return McpListing(tuple(ListedMcpTool(name, f"Does {name}.", schema) for name, schema in self.schemas.items()), self.more)

    def call(self, target: McpTarget, call: McpCall, *, seconds: float) -> McpResult:  # noqa: ARG002  as the port
        self.targets.append(target)
        if self.fails is not None:
            raise self.fails
        self.calls.append(call)
        if self.dies:
            raise ProcessDied
        return self.result or McpResult((McpText(f"{call.name} done"),))
