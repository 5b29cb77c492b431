"""Composes the tools that look things up: each is imported and built at its first call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hibernaut.services.sending.agent_messages import AgentMessages
    from hibernaut.services.sending.sending import Sending
    from hibernaut.services.tool_calls.file_tools import FileTools
    from hibernaut.services.tool_calls.mcp_calls import McpCalls
    from hibernaut.services.tool_calls.memory_tools import MemoryTools
    from hibernaut.services.tool_calls.online_tools import OnlineTools
    from hibernaut.store.stores import TenantStores
    from hibernaut.wiring.run_resources import RunResources


class LazyLookupTools:
    """The lookup tools of one tenant (`LookupTools`), each imported and built at its first call."""

    def __init__(self, stores: TenantStores, shared: RunResources, sending: Callable[[], Sending]) -> None:
        """`sending`: accepts the messages that agents send to each other."""
        self._stores = stores
        self._shared = shared
        self._sending = sending

    @cached_property
    def recall(self) -> MemoryTools:
        from hibernaut.services.tool_calls.memory_tools import MemoryTools

        return MemoryTools(self._stores, self._shared.host, self._shared.search.search(self._stores))

    @cached_property
    def files(self) -> FileTools:
        from hibernaut.services.tool_calls.file_tools import FileTools

        return FileTools(self._stores, self._shared.host, self._shared.search.search(self._stores))

    @cached_property
    def online(self) -> OnlineTools:
        from hibernaut.services.tool_calls.online_tools import OnlineTools

        return OnlineTools(self._stores, self._shared.host, self._shared.runner, self._shared.limits)

    @cached_property
    def mcp(self) -> McpCalls:
        from hibernaut.wiring.mcp import mcp_calls_of

        return mcp_calls_of(self._stores, self._shared)

    @cached_property
    def agents(self) -> AgentMessages:
        from hibernaut.services.access.key_reach import KeyReach
        from hibernaut.services.sending.agent_messages import AgentMessages

        shared = self._shared
        reach = KeyReach(shared.stores, self._stores).of
        return AgentMessages(self._stores, shared.host, self._sending(), reach=reach, reply_seconds=shared.limits.reply)
