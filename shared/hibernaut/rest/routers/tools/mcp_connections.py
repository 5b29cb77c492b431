"""Connecting to MCP servers by OAuth: events of an attempt, and the address at which users answer (Letta V1 API, API 3;
RT 10.8).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from hibernaut.rest.access.authentication import CALLBACK
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.access.own_address import own_address
from hibernaut.rest.dependencies import Services, TheCaller, TheServices, TheThreadPools
from hibernaut.rest.http.lanes import TOOL_RUNS
from hibernaut.rest.http.streaming import MEDIA_TYPE
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.errors import HibernautError, InvalidArgument
from hibernaut.schemas.mcp.named_servers import McpServerByName
from hibernaut.schemas.mcp.server import McpServerId

if TYPE_CHECKING:
    from hibernaut.rest.http.async_bridge import ThreadPools
    from hibernaut.services.tools.mcp_connections import ConnectionAttempt

router = APIRouter(prefix="/v1", tags=["MCP servers"], route_class=LazyRoute)
PAUSE = 0.5
"""Seconds between two reads of a pending authorization. Another process may receive the user's answer."""
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
LONGEST_STATE = 200
Attempt = Callable[[], "ConnectionAttempt"]


@router.get("/mcp-servers/connect/{mcp_server_id}")
async def connect_mcp_server(
    request: Request, services: TheServices, pools: TheThreadPools, caller: TheCaller, mcp_server_id: McpServerId
) -> Response:
    """Connect to an MCP server, as a stream of events: its tools, or the address at which its user authorizes this server, and
    then its tools.

    It reaches out and begins an authorization, so pages of other origins may not send it, although it is a GET.
    """
    policy: OriginPolicy = request.app.state.policy
    policy.check_change(request.scope)
    connections = services.mcp_connections
    name = await pools.look(partial(connections.name_of, mcp_server_id))
    attempt = partial(connections.stored, mcp_server_id, own_address(request) + CALLBACK, user=caller.user_id)
    return StreamingResponse(_events(services, pools, name, attempt), media_type=MEDIA_TYPE)


@router.post("/tools/mcp/servers/connect")
async def connect_unsaved_mcp_server(
    request: Request, services: TheServices, pools: TheThreadPools, body: McpServerByName
) -> Response:
    """The same for an MCP server that is not stored."""
    attempt = partial(services.mcp_connections.unsaved, body.request(), own_address(request) + CALLBACK)
    return StreamingResponse(_events(services, pools, body.server_name, attempt), media_type=MEDIA_TYPE)


async def _events(services: Services, pools: ThreadPools, name: str, attempt: Attempt) -> AsyncIterator[str]:
    from hibernaut.services.mcp.oauth_flows import BegunFlow  # with what reaches MCP servers

    yield _event("connection_attempt", server_name=name)
    try:
        found = await pools.run(TOOL_RUNS, attempt)
        if isinstance(found, BegunFlow):
            yield _event("oauth_required", message=f"The MCP server {name} asks for authorization.")
            yield _event("authorization_url", url=found.address, session_id=found.digest)
            yield _event("waiting_for_auth", message="Open the address, and come back when you have answered.")
            async for silence in _until_answered(services, pools, found.digest):
                yield silence
            found = await pools.run(TOOL_RUNS, attempt)
            if isinstance(found, BegunFlow):
                raise InvalidArgument(f"The MCP server {name} refuses the token that its authorization server issued.")
        yield _event("success", tools=[*found.tools])
    except HibernautError as error:
        yield _event("error", message=error.detail)


async def _until_answered(services: Services, pools: ThreadPools, digest: str) -> AsyncIterator[str]:
    """Keep-alive comments until the user has answered. Raises: InvalidArgument if the authorization has failed."""
    clock = asyncio.get_running_loop().time
    last_sent, ends = clock(), clock() + (pools.waits.longest or float("inf"))
    while True:
        status, fault = await pools.look(partial(services.mcp_connections.look, digest))
        if status == "authorized":
            return
        if status == "failed" or pools.closed or clock() >= ends:
            raise InvalidArgument(f"The authorization has failed: {fault or 'it was not answered in time'}.")
        if clock() - last_sent >= pools.waits.silence:
            last_sent = clock()
            yield ": \n\n"
        await asyncio.sleep(PAUSE)


def _event(name: str, **fields: object) -> str:
    return f"data: {json.dumps({'event': name, **fields}, ensure_ascii=False)}\n\n"


@router.get("/tools/mcp/oauth/callback", include_in_schema=False)
async def answer_authorization(request: Request, pools: TheThreadPools) -> Response:
    """The redirect address to which an authorization server returns the user's browser. The query's `state` identifies the flow
    and its tenant.
    """
    from hibernaut.domain.tools.mcp.oauth import OAuthFault
    from hibernaut.services.mcp.oauth_flows import tenant_in

    parameters = {
        name: values[0]
        for name in ("state", "code", "error", "error_description", "iss")
        if (values := request.query_params.getlist(name))
    }
    state = parameters.get("state", "")[:LONGEST_STATE]
    tenant = tenant_in(state)
    if tenant is None:
        return _page("The authorization is unknown.", "The address of this page has no state of an authorization.", 400)
    try:
        services: Services = request.app.state.services.of(tenant)
        await pools.run(TOOL_RUNS, partial(services.mcp_connections.answer, state, parameters))
    except OAuthFault as fault:
        return _page("The server was not authorized.", f"The reason: {fault}.", 400)
    except InvalidArgument:
        return _page("The authorization is unknown.", "The address of this page has no state of an authorization.", 400)
    return _page("The server is authorized.", "You may close this window.", 200)


def _page(title: str, text: str, status: int) -> Response:
    body = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><h1>{escape(title)}</h1><p>{escape(text)}</p></html>"
    headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer"}
    return HTMLResponse(body, status, headers=headers)
