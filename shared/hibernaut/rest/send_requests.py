"""A body as a request to an agent, from whichever door it comes: a route, a web socket, or MCP."""

from __future__ import annotations

from urllib.parse import urlsplit

from hibernaut.rest.access.client_rights import check_sent
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.errors import InvalidArgument, Unprocessable
from hibernaut.schemas.runs.send import LettaAsyncRequest, LettaRequest, LettaStreamingRequest
from hibernaut.services.sending.sending import SendRequest


def send_request(
    agent_id: str, body: LettaRequest, run_type: str, *, digest: str, retry: int = 0, principal: Principal
) -> SendRequest:
    """A body as a request to an agent. Raises: Unprocessable, InvalidArgument, ScopeTooNarrow."""
    check_sent(principal, body)
    if body.messages is not None and not body.messages:
        raise Unprocessable("Messages must not be empty")
    return SendRequest(
        agent_id=agent_id,
        body=body,
        run_type=run_type,
        digest=digest,
        retry=retry,
        background=isinstance(body, LettaAsyncRequest) or (isinstance(body, LettaStreamingRequest) and body.background),
        callback_url=callable_address(body.callback_url) if isinstance(body, LettaAsyncRequest) else None,
        key_id=principal.key_id,
    )


def callable_address(url: str | None) -> str | None:
    """The address that the server calls at the end of a run. Raises: InvalidArgument if it is not an http or https address."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidArgument("INVALID_ARGUMENT: callback_url must be an http or https address.")
    return url
