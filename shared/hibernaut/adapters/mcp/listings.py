"""The listings of tools, read before the package validates them, because one invalid tool would invalidate all others.

`mended` wraps a connection: it stores the tools in their original form, and passes on what the protocol's types permit, including
results.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from hibernaut.adapters.mcp.contents import readable
from hibernaut.domain.tools.mcp.mcp_results import ListedMcpTool

MOST_LISTED = 1_000
"""Tools of a server that are read."""
Received = SessionMessage | Exception


class Listings:
    """The tools of one session, by their names, in the order of their pages. `more`: there were more than are read."""

    def __init__(self) -> None:
        self.found: dict[str, ListedMcpTool] = {}
        self.more = False

    def mend(self, item: Received) -> Received:
        """The message itself, with a listing or a result that the package can read."""
        message = item.message if isinstance(item, SessionMessage) else None
        if not isinstance(message, JSONRPCResponse):
            return item
        if isinstance(content := message.result.get("content"), list):
            message.result["content"] = readable(content)
        if isinstance(listed := message.result.get("tools"), list):
            room = MOST_LISTED - len(self.found)
            self.more = self.more or len(listed) > room
            message.result["tools"] = [mended for each in listed[: max(0, room)] if (mended := self._mended(each)) is not None]
        return item

    def _mended(self, raw: object) -> dict[str, Any] | None:
        """A tool in a form that the package accepts; None without a name."""
        if not isinstance(raw, dict) or not isinstance(name := raw.get("name"), str) or not name:
            return None
        text, schema = raw.get("description"), raw.get("inputSchema")
        description = text if isinstance(text, str) else ""
        self.found[name] = ListedMcpTool(name, description, schema)
        valid = isinstance(schema, dict) and schema.get("type") == "object"
        return {"name": name, "inputSchema": schema if valid else {"type": "object"}}


class _MendedStream:
    """The messages of a connection, of which listings are noted."""

    def __init__(self, stream: Any, listings: Listings) -> None:
        self._stream = stream
        self._listings = listings

    @property
    def last_context(self) -> object:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Received:
        item: Received = await self._stream.receive()
        return self._listings.mend(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        item: Received = await self._stream.__anext__()
        return self._listings.mend(item)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        ended: bool | None = await self._stream.__aexit__(kind, error, trace)
        return ended


@asynccontextmanager
async def mended(transport: Transport, listings: Listings) -> AsyncIterator[Any]:
    """The connection, with its listings stored in `listings`."""
    async with transport as (reading, writing):
        yield _MendedStream(reading, listings), writing
