"""The MCP endpoint: agents as tools of the Model Context Protocol, for editors and other agents (decision 54). An extension of
Hibernaut.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hibernaut.rest.access.permissions import MCP
from hibernaut.rest.dependencies import TheCaller, ThePrincipal, TheServices, TheThreadPools
from hibernaut.rest.lazy_routes import LazyRoute

router = APIRouter(tags=["mcp"], route_class=LazyRoute)


@router.post(MCP, include_in_schema=False)  # JSON-RPC has a description of its own: `tools/list`
async def serve_mcp(
    request: Request, services: TheServices, pools: TheThreadPools, caller: TheCaller, principal: ThePrincipal
) -> Response:
    """A message of the Model Context Protocol, by streamable HTTP. Replies are JSON, or events if the client asks for progress;
    there is no session, and no stream of the server.
    """
    from hibernaut.rest.mcp.endpoint import McpEndpoint  # most processes never serve it

    return await McpEndpoint(request, services, pools, caller, principal=principal).serve()
