"""The app: middleware, routes and pages over the use cases. Every profile serves the same object.

Knows the routers; must not know which engines stand behind the services.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.routing import Route

from hibernaut import __version__
from hibernaut.rest import unserved_routes
from hibernaut.rest.access.authentication import Authenticated
from hibernaut.rest.access.origin_policy import OriginGuard, OriginPolicy
from hibernaut.rest.dependencies import Services
from hibernaut.rest.http import errors, lanes
from hibernaut.rest.http.async_bridge import USUAL_WAITS, ThreadPools, WaitSettings
from hibernaut.rest.http.middleware import (
    CONSOLE,
    MEBIBYTE,
    BodyLimit,
    CanonicalPath,
    OriginForm,
    UncachedReplies,
    UnhandledErrors,
)
from hibernaut.rest.http.request_log import RequestLog
from hibernaut.rest.mcp.open_calls import OpenCalls
from hibernaut.rest.pages import docs
from hibernaut.rest.pages.console_site import ConsoleSite
from hibernaut.rest.pages.openapi import DescribedApi
from hibernaut.rest.routers.agents import (
    agent_blocks,
    agent_documents,
    agent_files,
    agent_tools,
    agent_versions,
    agents,
    direct_calls,
    group_messages,
    groups,
    identities,
    pauses,
    schedules,
    tags,
    templates,
)
from hibernaut.rest.routers.conversations import chat_completions, compaction, conversations, messages, repairs
from hibernaut.rest.routers.deployment import (
    access_tokens,
    api_keys,
    audits,
    budgets,
    erasures,
    health,
    mcp,
    models,
    organizations,
    providers,
    webhooks,
)
from hibernaut.rest.routers.memory import archives, blocks, folders, passages, searches, versions
from hibernaut.rest.routers.runs import batches, jobs, runs, steps, streams, usage
from hibernaut.rest.routers.tools import mcp_connections, mcp_servers, named_mcp_servers, sandboxes, tool_policies, tools
from hibernaut.rest.sockets.middleware import WebSockets
from hibernaut.schemas.base import JsonObject

if TYPE_CHECKING:
    from hibernaut.services.access.access import Access
    from hibernaut.services.per_tenant import PerTenant

ROUTERS = (
    health,
    repairs,
    direct_calls,
    batches,
    messages,
    agent_documents,
    agents,
    pauses,
    agent_versions,
    compaction,
    chat_completions,
    agent_blocks,
    agent_tools,
    agent_files,
    groups,
    group_messages,
    identities,
    templates,
    folders,
    conversations,
    blocks,
    versions,
    archives,
    passages,
    providers,
    searches,
    mcp_servers,
    named_mcp_servers,
    tools,
    tool_policies,
    sandboxes,
    organizations,
    runs,
    streams,
    steps,
    jobs,
    models,
    tags,
    schedules,
    usage,
    api_keys,
    access_tokens,
    audits,
    budgets,
    webhooks,
    erasures,
    mcp,
    mcp_connections,
)
"""If two routes match a path, the router that comes first here has precedence. The routes of messages are near the beginning,
because a request is compared with every route before its own.
"""
DEFAULT_BODY_LIMIT = 50 * MEBIBYTE
LOOPBACK_ONLY = OriginPolicy()
DESCRIPTION = "Stateful LLM agents with self-editing memory, behind the Letta V1 API."


def create_app(
    services: PerTenant[Services],
    *,
    access: Access | None = None,
    body_limit: int = DEFAULT_BODY_LIMIT,
    upload_limit: int | None = None,
    policy: OriginPolicy = LOOPBACK_ONLY,
    waits: WaitSettings = USUAL_WAITS,
) -> FastAPI:
    """The app over the services of each tenant.

    `access` authenticates requests and manages keys; None: every caller is the default tenant, and there are no keys.
    `body_limit`: bytes of a request body; `upload_limit`: bytes of an uploaded file (None: `body_limit`). `policy`: the host
    names that the app answers to, and the foreign pages that may call it. `waits`: time limits of requests that follow a run.
    """
    # FastAPI silences pydantic's warning about an alias of its body fields while it builds routes; lazy routes are built later.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    app = DescribedApi(
        # `include_router` is not used: it would inspect every route of each router and make the lazy routes eager.
        routes=[
            *(
                route
                for router in (*(module.router for module in ROUTERS), folders.sources, steps.telemetry)
                for route in router.routes
            ),
            *unserved_routes.routes(),
        ],
        title="Hibernaut",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    app.state.access = access
    app.state.pools = ThreadPools(waits)
    app.state.open_calls = OpenCalls()
    app.state.policy = policy
    errors.install(app)
    pages = {"/": _root, CONSOLE: _console_page, "/docs": _docs_page, "/openapi.json": _openapi_document}
    app.router.routes += [Route(path, page) for path, page in pages.items()]
    app.add_middleware(BodyLimit, limit=body_limit, uploads=upload_limit or body_limit)
    app.add_middleware(Authenticated, access=access, pools=app.state.pools)
    app.add_middleware(CanonicalPath)
    app.add_middleware(ConsoleSite, pools=app.state.pools)
    app.add_middleware(UnhandledErrors)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=policy.origins,
        allow_credentials=True,
        allow_methods=["*"],
        allow_headers=["*"],
    )
    app.add_middleware(OriginGuard, policy=policy)
    app.add_middleware(UncachedReplies)
    app.add_middleware(RequestLog)
    app.add_middleware(OriginForm)
    app.add_middleware(WebSockets, owner=app, policy=policy)
    return app


async def _root(_: Request) -> RedirectResponse:
    return RedirectResponse("console/")


async def _console_page(_: Request) -> RedirectResponse:
    """The page has relative addresses, which begin at the final slash of its own."""
    return RedirectResponse("console/")


async def _docs_page(request: Request) -> Response:
    def page(document: JsonObject) -> Response:
        return HTMLResponse(docs.page(document), headers={"content-security-policy": docs.POLICY})

    return await _described(request, page)


async def _openapi_document(request: Request) -> Response:
    return await _described(request, JSONResponse)


async def _described(request: Request, shown: Callable[[JsonObject], Response]) -> Response:
    """The API's description as it is `shown`, made on a thread: other requests are answered meanwhile."""
    app: FastAPI = request.app
    pools: ThreadPools = app.state.pools
    return await pools.run(lanes.DOCUMENTATION, lambda: shown(app.openapi()))
