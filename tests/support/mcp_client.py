"""The official client of the Model Context Protocol against a server of ours, for tests that are not asynchronous."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

Result = TypeVar("Result")
STATELESS, HANDSHAKE, AUTOMATIC = "2026-07-28", "legacy", "auto"
"""The client's names of: the newest revision, the revisions that begin with `initialize`, and whatever the server offers."""
PATIENCE = 60.0
Hear = Callable[[float, float | None, str | None], Awaitable[None]]
"""Hears of progress: how far, of how much, and a line."""


@dataclass(frozen=True)
class McpClient:
    """Connects anew for each piece of work, as an editor does at its start."""

    url: str
    key: str
    mode: str = STATELESS
    headers: Mapping[str, str] = field(default_factory=dict)

    def do(self, work: Callable[[Client], Awaitable[Result]]) -> Result:
        """What the work returns, over one connection."""
        return anyio.run(partial(self._do, work))

    async def _do(self, work: Callable[[Client], Awaitable[Result]]) -> Result:
        headers = {"authorization": f"Bearer {self.key}", **self.headers}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http), mode=self.mode) as client,
        ):
            return await work(client)

    def tools(self) -> dict[str, Any]:
        """The tools that the server lists, by name."""

        async def listed(client: Client) -> dict[str, Any]:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

        return self.do(listed)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The structured result of a call, which the client checks against the schema of the tool. A refused call fails."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def refusal(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that is refused or fails."""
        result = self.result(tool, **arguments)
        assert result.is_error, result.structured_content
        return str(result.content[0].text)

    def result(self, tool: str, /, **arguments: Any) -> Any:
        return self.heard(tool, None, **arguments)

    def heard(self, tool: str, hear: Hear | None, /, **arguments: Any) -> Any:
        """The result of a call whose progress `hear` is told."""

        async def called(client: Client) -> Any:
            await client.list_tools()
            return await client.call_tool(tool, arguments, progress_callback=hear)

        return self.do(called)
