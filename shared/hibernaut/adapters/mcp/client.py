"""The port `Mcp` by the official package: one session for each listing and each call, on an event loop of its own, within bounds
of time and size.

The results of tools are not checked against the schemas that their servers give: a hostile pattern would keep this process busy,
and a model reads text. Servers may not ask anything back: sampling, elicitation and roots are not offered, and a result that asks
for input is a failure.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar, assert_never

import anyio
import httpx2
import mcp_types as types
from anyio import to_thread
from mcp.client import Client as ProtocolClient
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter

from hibernaut import __version__
from hibernaut.adapters.door import Door
from hibernaut.adapters.mcp.listings import Listings, mended
from hibernaut.adapters.mcp.results import result_of
from hibernaut.adapters.mcp.session_bounds import MOST_BYTES, SessionWatch
from hibernaut.adapters.mcp.session_failures import failure_of
from hibernaut.domain.tools.mcp.mcp_results import McpListing, McpResult
from hibernaut.domain.tools.mcp.mcp_schemas import fingerprint
from hibernaut.ports.tools.mcp import NO_PROGRAMS, HttpMcpTarget, McpCall, McpFailure, McpTarget, StdioMcpTarget
from hibernaut.schemas.immutable import immutable

MOST_PAGES = 50
CONNECT_SECONDS = 10.0
LOOK = 0.5
"""Seconds between two questions whether a call is still wanted."""
_ANSWER: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
Outcome = TypeVar("Outcome")


class McpClient:
    """The client of MCP servers. `door`: for addresses, which clients with a key name. `programs`: whether it starts programs, as
    it does within the cage of tools alone (`adapters.mcp.programs`). `most`: bytes of a session; `look`: seconds between two
    questions whether a call is still wanted.

    Thread-safe: a session belongs to its method.
    """

    def __init__(self, door: Door, *, programs: bool = False, most: int = MOST_BYTES, look: float = LOOK) -> None:
        self._door = door
        self._programs = programs
        self._most = most
        self._look = look
        _silence()

    def tools(self, target: McpTarget, *, seconds: float) -> McpListing:
        """As the port says."""
        return self._in_session(target, seconds, lambda session: session.listed())

    def call(self, target: McpTarget, call: McpCall, *, seconds: float) -> McpResult:
        """As the port says."""
        return self._in_session(target, seconds, lambda session: session.called(call, self._look))

    def _in_session(self, target: McpTarget, seconds: float, work: Callable[[McpSession], Awaitable[Outcome]]) -> Outcome:
        """The outcome of `work` in a session of its own. An error after it, at the end of the session, does not matter."""
        watch, listings = SessionWatch(self._most), Listings()
        done: list[Outcome] = []
        refused: list[Exception] = []

        async def session() -> None:
            with anyio.move_on_after(seconds) as scope:
                watch.end = scope.cancel
                async with self._connected(target, watch, listings) as client:
                    try:
                        done.append(await work(McpSession(client, watch, listings)))
                    except Exception as error:  # noqa: BLE001  task groups would wrap it; it is raised again below
                        refused.append(error)

        try:
            anyio.run(session)
        except Exception as error:
            if not done and not refused:
                raise failure_of(error, watch) from error
        if done:
            return done[0]
        if refused:
            raise failure_of(refused[0], watch) from refused[0]
        if watch.limit:
            raise McpFailure("limit", watch.limit)
        raise McpFailure("timeout", f"it did not answer within {seconds:g} seconds")

    @asynccontextmanager
    async def _connected(self, target: McpTarget, watch: SessionWatch, listings: Listings) -> AsyncIterator[ProtocolClient]:
        async with self._transport(target, watch) as transport:
            info = types.Implementation(name="hibernaut", version=__version__)
            async with ProtocolClient(mended(transport, listings), cache=None, client_info=info) as client:
                yield client

    @asynccontextmanager
    async def _transport(self, target: McpTarget, watch: SessionWatch) -> AsyncIterator[Transport]:
        match target:
            case StdioMcpTarget():
                if not self._programs:
                    raise McpFailure("off", NO_PROGRAMS)
                yield stdio_client(_program(target))
            case HttpMcpTarget(transport="sse"):
                yield sse_client(target.url, httpx_client_factory=lambda **_: self._http(target, watch))  # type: ignore[arg-type]
            case HttpMcpTarget():
                async with self._http(target, watch) as http:
                    yield streamable_http_client(target.url, http_client=http, max_sse_event_size=self._most)
            case _ as never:
                assert_never(never)

    def _http(self, target: HttpMcpTarget, watch: SessionWatch) -> httpx2.AsyncClient:
        """Responses are not compressed, and silence is limited by the session alone: a tool may work for as long as the session
        lasts.
        """
        headers = {"user-agent": "hibernaut", **target.headers, "accept-encoding": "identity"}
        client = self._door.async_client(headers, httpx2.Timeout(None, connect=CONNECT_SECONDS))
        client.event_hooks["response"].append(watch.answered)
        return client


@immutable
class McpSession:
    """An open session: its client, what it has seen, and the tools as their server wrote them."""

    client: ProtocolClient
    watch: SessionWatch
    listings: Listings

    async def listed(self) -> McpListing:
        """The tools of the server that may be called."""
        cursor: str | None = None
        names: dict[str, None] = {}
        for _ in range(MOST_PAGES):
            page = await self.client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            names |= dict.fromkeys(tool.name for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None or self.listings.more:
                break
        found = self.listings.found
        return McpListing(tuple(found[name] for name in names), more=self.listings.more or cursor is not None)

    async def called(self, call: McpCall, look: float) -> McpResult:
        """The result of one call."""
        if call.fingerprint is not None:
            _check(call, await self.listed())
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=call.name, arguments=call.args))
        async with anyio.create_task_group() as attended:
            attended.start_soon(_watched, call.wanted, self.watch, attended.cancel_scope, look)
            answer = await self.client.session.send_request(request, _ANSWER)
            attended.cancel_scope.cancel()
        if self.watch.cancelled:
            raise McpFailure("cancelled", "the call was cancelled")
        if isinstance(answer, types.InputRequiredResult):
            raise McpFailure("protocol", "the tool asks its user a question, and nobody can answer it here")
        return result_of(answer)


def _check(call: McpCall, listing: McpListing) -> None:
    """Raises: McpFailure for a call that the server would take otherwise than it is meant."""
    tool = next((each for each in listing.tools if each.name == call.name), None)
    if tool is None and not listing.more:
        raise McpFailure("missing", f"it has no tool {call.name} any more")
    if tool is not None and call.fingerprint and fingerprint(tool.schema) != call.fingerprint:
        raise McpFailure("changed", f"it has changed the arguments of the tool {call.name}")


def _program(target: StdioMcpTarget) -> StdioServerParameters:
    return StdioServerParameters(
        command=target.command, args=list(target.args), env=dict(target.env), encoding_error_handler="replace"
    )


async def _watched(wanted: Callable[[], bool], watch: SessionWatch, scope: anyio.CancelScope, look: float) -> None:
    while True:
        await anyio.sleep(look)
        if not await to_thread.run_sync(wanted, abandon_on_cancel=True):
            watch.cancelled = True
            scope.cancel()


def _silence() -> None:
    """Keep the package from logging: its records quote messages."""
    log = logging.getLogger("mcp")
    log.propagate = False
    log.setLevel(logging.CRITICAL + 1)
