"""MCP servers: their tools, and calls of these. Each method has a session of its own, which it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal, Protocol

from hibernaut.domain.tools.mcp.mcp_results import McpListing, McpResult
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

McpProblem = Literal["unreachable", "unauthorized", "timeout", "protocol", "limit", "cancelled", "missing", "changed", "off"]
"""`missing`, `changed`: the server lists the tool of a call no more, or with another schema, and the call was not made. `off`:
this deployment does not reach servers of this kind.
"""


NO_PROGRAMS = "it is a program, and this deployment starts none (HIBERNAUT_MCP_STDIO)"


class McpFailure(Exception):
    """A session that failed. The message is a clause about the server, for the user who configured it and for models; it contains
    no secret.

    `challenge`: the header `WWW-Authenticate` of a server that asks for authorization.
    """

    def __init__(self, problem: McpProblem, reason: str, challenge: str = "") -> None:
        self.problem = problem
        self.challenge = challenge
        super().__init__(reason)


@immutable
class HttpMcpTarget:
    """A server behind an address. `headers` authenticate each request."""

    url: str
    transport: Literal["streamable_http", "sse"] = "streamable_http"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@immutable
class StdioMcpTarget:
    """A server that is a program, started for each session. `env`: its own variables."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


McpTarget = HttpMcpTarget | StdioMcpTarget


@immutable
class McpCall:
    """A call of a tool by its name on the server. `fingerprint`: of the schema that its arguments were made for (None: the
    server's tools are not read before the call; "": it must list the tool). `wanted` is asked now and then, on another thread;
    the call is cancelled when it answers False.
    """

    name: str
    args: JsonObject
    fingerprint: str | None = None
    wanted: Callable[[], bool] = lambda: True


class Mcp(Protocol):
    """The client of MCP servers. Thread-safe."""

    def tools(self, target: McpTarget, *, seconds: float) -> McpListing:
        """The tools of a server, within the limits of the adapter. Raises: McpFailure."""

    def call(self, target: McpTarget, call: McpCall, *, seconds: float) -> McpResult:
        """Make one call, once. `seconds` limits the whole session. Raises: McpFailure."""


class NoMcp:
    """The client of a deployment that reaches no MCP server: every call raises McpFailure."""

    def tools(self, target: McpTarget, *, seconds: float) -> McpListing:  # noqa: ARG002 - the port names them
        raise McpFailure("off", "this deployment reaches no MCP servers")

    def call(self, target: McpTarget, call: McpCall, *, seconds: float) -> McpResult:  # noqa: ARG002 - the port names them
        raise McpFailure("off", "this deployment reaches no MCP servers")


NO_MCP = NoMcp()
