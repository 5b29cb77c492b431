"""A tool of the MCP endpoint: its description for clients, the REST routes whose permissions it needs, and its function."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, TypeVar

from starlette.types import Scope as AsgiScope

from hibernaut.rest.access import permissions
from hibernaut.rest.access.client_rights import granted
from hibernaut.rest.dependencies import Caller, Services
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.http.lanes import ACCESS, Lane
from hibernaut.rest.mcp.progress import Tell
from hibernaut.rest.mcp.wire import RpcRequest
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.base import JsonObject, Schema, StrictSchema
from hibernaut.schemas.errors import ScopeTooNarrow
from hibernaut.schemas.immutable import immutable
from hibernaut.services.access.access import Access

Result = TypeVar("Result")
Route = tuple[str, str]
"""Method and path, as the route declares them."""


@immutable
class ToolContext:
    """One call of a tool. `over`: set when nobody waits for the answer any more. `raw`: the bytes of the request. `tell`: tells
    the client a line about what the agent does (None: it did not ask for it).
    """

    services: Services
    pools: ThreadPools
    caller: Caller
    principal: Principal
    asgi: AsgiScope
    call: RpcRequest
    raw: bytes
    over: asyncio.Event = field(default_factory=asyncio.Event)
    tell: Tell | None = None

    async def admit(self, route: Route, **named: str) -> None:
        """Check that the key may call the REST route that does the same, with these parameters of its path, and count the request
        for the agent that the path names. Raises: ScopeTooNarrow, BudgetExceeded, ServerBusy.
        """
        method, path = route
        await permissions.check({**self.asgi, "method": method, "path_params": named, "query_string": b""}, path)
        access: Access | None = self.asgi["app"].state.access
        agent_id = named.get("agent_id")
        if access is None or agent_id is None:
            return
        for limit in access.rates.concerning(self.principal, f"/v1/agents/{agent_id}"):
            if limit.subject == agent_id:  # the request itself was counted for the tenant and the key
                await self.pools.run(ACCESS, partial(access.rates.admit, limit))

    async def run(self, lane: Lane, job: Callable[[], Result]) -> Result:
        """Run blocking work on a lane."""
        return await self.pools.run(lane, job)


Run = Callable[[ToolContext, Any], Awaitable[Schema]]


@immutable
class AgentTool:
    """A tool. `routes`: a caller who may call one of these REST routes gets the tool. `hints`: the annotations of the protocol.
    `waits`: the tool waits for an agent, and reports progress.
    """

    name: str
    title: str
    description: str
    arguments: type[StrictSchema]
    result: type[Schema]
    routes: tuple[Route, ...]
    run: Run
    hints: Mapping[str, bool]
    waits: bool = False

    def offered_to(self, principal: Principal) -> bool:
        """Whether the key may call the tool with some arguments."""
        return any(_may(principal, route) for route in self.routes)

    def described(self) -> JsonObject:
        """The tool as `tools/list` shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.arguments.model_json_schema(),
            "outputSchema": self.result.model_json_schema(mode="serialization"),
            "annotations": {"title": self.title, **self.hints},
        }


def _may(principal: Principal, route: Route) -> bool:
    method, path = route
    if not principal.scope.includes(permissions.scope_of(method, path)):
        return False
    if principal.kind != "client":
        return True
    try:
        granted(principal, method, path)
    except ScopeTooNarrow:
        return False
    return True
