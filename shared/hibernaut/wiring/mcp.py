"""Composes what reaches MCP servers. The client, with the package of the protocol, is imported at its first session."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hibernaut.adapters.door import Door
from hibernaut.domain.tools.mcp.mcp_results import McpListing, McpResult
from hibernaut.ports.tools.mcp import Mcp, McpCall, McpTarget, StdioMcpTarget

if TYPE_CHECKING:
    from hibernaut.adapters.mcp.client import McpClient
    from hibernaut.adapters.mcp.programs import RecallingRunner
    from hibernaut.services.mcp.mcp_targets import McpTargets
    from hibernaut.services.mcp.oauth_grants import OAuthGrants
    from hibernaut.services.tool_calls.mcp_calls import McpCalls
    from hibernaut.services.tools.mcp_connections import McpConnections
    from hibernaut.services.tools.mcp_servers import McpServers
    from hibernaut.services.tools.tools import Tools
    from hibernaut.store.stores import TenantStores
    from hibernaut.wiring.run_resources import RunResources


class LazyMcp:
    """The clients of MCP servers, which are created at the first session. `door`: for the addresses that clients with a key name.
    `programs`: the sandbox in which servers that are programs run (None: they do not).
    """

    def __init__(self, door: Door, programs: RecallingRunner | None = None) -> None:
        self._door = door
        self._runner = programs

    @cached_property
    def _client(self) -> McpClient:
        from hibernaut.adapters.mcp.client import McpClient

        return McpClient(self._door)

    @cached_property
    def _programs(self) -> Mcp:
        from hibernaut.adapters.mcp.programs import CagedPrograms

        return self._client if self._runner is None else CagedPrograms(self._runner)

    def _of(self, target: McpTarget) -> Mcp:
        return self._programs if isinstance(target, StdioMcpTarget) else self._client

    def tools(self, target: McpTarget, *, seconds: float) -> McpListing:
        """As the port says."""
        return self._of(target).tools(target, seconds=seconds)

    def call(self, target: McpTarget, call: McpCall, *, seconds: float) -> McpResult:
        """As the port says."""
        return self._of(target).call(target, call, seconds=seconds)


def mcp_calls_of(stores: TenantStores, shared: RunResources) -> McpCalls:
    """The calls of tools of one tenant's servers."""
    from hibernaut.services.tool_calls.mcp_calls import McpCalls

    return McpCalls(stores, shared.host, _targets(stores, shared))


class McpUseCases(NamedTuple):
    """The API's use cases for MCP servers: administration, and connections to servers that require authorization."""

    servers: McpServers
    connections: McpConnections


def mcp_use_cases_of(stores: TenantStores, shared: RunResources, tools: Tools) -> McpUseCases:
    """The use cases of one tenant's servers."""
    from hibernaut.services.mcp.oauth_flows import OAuthFlows
    from hibernaut.services.tools.mcp_connections import McpConnections

    servers, flows = _servers(stores, shared, tools), OAuthFlows(stores, shared.host, _grants(stores, shared))
    return McpUseCases(servers, McpConnections(servers, flows))


def _servers(stores: TenantStores, shared: RunResources, tools: Tools) -> McpServers:
    from hibernaut.services.records import records_over
    from hibernaut.services.tools.mcp_servers import McpServers

    host = shared.host
    return McpServers(
        records_over(stores, host.clock, host.ids),
        stores.mcp_servers,
        host.mcp,
        targets=_targets(stores, shared),
        tools=tools,
        calls=mcp_calls_of(stores, shared),
        seconds=shared.limits.timeout,
    )


def _grants(stores: TenantStores, shared: RunResources) -> OAuthGrants:
    from hibernaut.services.mcp.oauth_grants import OAuthGrants

    return OAuthGrants(stores, shared.host)


def _targets(stores: TenantStores, shared: RunResources) -> McpTargets:
    from hibernaut.services.mcp.mcp_targets import McpTargets, McpVault
    from hibernaut.store.table.tenant_seals import TenantSeals

    return McpTargets(McpVault(TenantSeals(stores.tenant, shared.host.cipher)), _grants(stores, shared))
