"""The failure of a session, in words for the user who configured the server. They quote nothing of the server's responses except
the message of a protocol error.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
from mcp import MCPError
from pydantic import ValidationError

from hibernaut.adapters.mcp.session_bounds import SessionWatch
from hibernaut.adapters.pinned_transport import AddressRefused
from hibernaut.ports.tools.mcp import McpFailure

LONGEST_MESSAGE = 500
"""Characters of a server's own message."""


def failure_of(error: BaseException, watch: SessionWatch) -> McpFailure:
    """The failure behind an error of a session."""
    if watch.limit:
        return McpFailure("limit", watch.limit)
    if watch.status in (401, 403):
        return McpFailure("unauthorized", f"it refused the credentials of the request ({watch.status})", watch.challenge)
    causes = list(_causes(error))
    connection = next((found for cause in causes if (found := _of_connection(cause)) is not None), None)
    return connection or _of_address(watch) or _of_protocol(causes, watch)


def _of_connection(cause: BaseException) -> McpFailure | None:
    match cause:
        case McpFailure():
            return cause
        case AddressRefused():
            return McpFailure("unreachable", f"its address {cause}")
        case httpx2.SSEError():  # an answer that is no stream of events
            return None
        case httpx2.TimeoutException():
            return McpFailure("timeout", "it did not answer in time")
        case httpx2.TransportError():
            return McpFailure("unreachable", f"no connection ({type(cause).__name__})")
        case httpx2.InvalidURL():
            return McpFailure("unreachable", "its address is not an address like https://example.com/mcp")
        case OSError():
            return McpFailure("unreachable", f"it could not be reached or started ({type(cause).__name__})")
        case _:
            return None


def _of_address(watch: SessionWatch) -> McpFailure | None:
    if watch.html:
        return McpFailure("protocol", "its address answers with a web page instead of the Model Context Protocol")
    if 300 <= watch.status < 400:
        return McpFailure("protocol", "its address redirects to another one; redirects are not followed")
    return None


def _of_protocol(causes: list[BaseException], watch: SessionWatch) -> McpFailure:
    for cause in causes:
        if isinstance(cause, MCPError):
            status = f" (HTTP {watch.status})" if watch.status >= 400 else ""
            return McpFailure("protocol", f"it answered with an error{status}: {cause.message[:LONGEST_MESSAGE]}")
        if isinstance(cause, ValidationError):
            return McpFailure("protocol", f"its answer is not valid: {_first(cause)}")
    return McpFailure("protocol", f"it violates the Model Context Protocol ({type(causes[-1]).__name__})")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The errors of a group, innermost ones, in their order."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each)
    else:
        yield error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])[:100]}: {first['msg'][:200]}"
