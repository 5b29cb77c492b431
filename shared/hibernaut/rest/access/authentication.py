"""Finds the API key or the token of a request, and answers 401 where there is none that can be used.

A key comes in one of three headers: `Authorization: Bearer <key>`, `X-API-Key: <key>`, or V1's `X-BARE-PASSWORD: password <key>`.
A key in the query is refused, because addresses are written to logs. Only the health checks and the files of the console are
answered without a key. A token of the deployment's identity provider comes in the same headers.

Plain ASGI. Knows headers and the principal; must not know any other route.
"""

from __future__ import annotations

import logging
from functools import partial

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from hibernaut.domain.api_keys import KEY_PATTERN
from hibernaut.domain.identity_tokens import TOKEN_PATTERN
from hibernaut.rest.access.origin_policy import check_page
from hibernaut.rest.access.tool_door import TOOL_DOOR
from hibernaut.rest.http.async_bridge import ServerStops, ThreadPools
from hibernaut.rest.http.errors import body_of, headers_of, reason_of, status_of
from hibernaut.rest.http.lanes import ACCESS
from hibernaut.rest.http.middleware import is_page
from hibernaut.rest.http.request_log import ERROR, KEY_ID, WHY
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.errors import HibernautError, InvalidArgument, Unauthenticated
from hibernaut.services.access.access import Access
from hibernaut.services.access.authentication import KEYLESS

PRINCIPAL = "principal"
"""Where a request's state holds its principal."""
CALLBACK = "/v1/tools/mcp/oauth/callback"
"""Where browsers answer for MCP servers. They have no key: the state of the answer is one (`services.mcp.oauth_flows`)."""
HEALTH = frozenset({"/v1/health", "/v1/ready"})
"""The paths that need no key: load balancers and the Web Adapter ask them."""
BEARER, BARE = "bearer ", "password "
logger = logging.getLogger(__name__)


def credential(headers: Headers) -> str | None:
    """The key of a request, None if it has none. Raises: Unauthenticated if its headers carry different keys."""
    found = {
        *(_without(BEARER, value) for value in headers.getlist("authorization")),
        *(value.strip() for value in headers.getlist("x-api-key")),
        *(_without(BARE, value) for value in headers.getlist("x-bare-password")),
    } - {""}
    if len(found) > 1:
        raise Unauthenticated("ambiguous", "The headers carry different keys; send one key in one header.")
    return found.pop() if found else None


def _without(word: str, value: str) -> str:
    """The value without its first word, which is not case-sensitive."""
    return value[len(word) :].strip() if value.lower().startswith(word) else value.strip()


class Authenticated:
    """Passes on requests with a usable key, with their principal in the request's state."""

    def __init__(self, app: ASGIApp, access: Access | None, pools: ThreadPools) -> None:
        """`access` None: an app that never has keys, as in tests of routes."""
        self._app = app
        self._authentication = access.authentication if access is not None else None
        self._rates = access.rates if access is not None else None
        self._pools = pools

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        try:
            is_open = scope["path"] in HEALTH or scope["path"] == CALLBACK or is_page(scope["path"])
            principal = KEYLESS if is_open else await self._admitted(scope)
        except (HibernautError, ServerStops) as error:
            await self._refusal(error, scope)(scope, receive, send)
            return
        state[PRINCIPAL] = principal
        if principal.key_id is not None:
            state[KEY_ID] = principal.key_id
        await self._app(scope, receive, send)
        if self._authentication is not None and self._authentication.use_is_due(principal):
            await self._pools.look(partial(self._authentication.note_use, principal))

    async def _admitted(self, scope: Scope) -> Principal:
        """The principal of a request that its limits on requests per second admit. Raises: BudgetExceeded, ForeignOrigin, and as
        `_principal`.
        """
        principal = await self._principal(scope)
        if principal.origin is not None:
            check_page(scope, principal.origin)
        rates = self._rates
        if rates is not None:
            for limit in rates.concerning(principal, scope["path"]):
                await self._pools.run(ACCESS, partial(rates.admit, limit))
        return principal

    async def _principal(self, scope: Scope) -> Principal:
        """Raises: Unauthenticated, InvalidArgument, and the errors of the table."""
        query = scope["query_string"].decode("latin-1")
        if TOKEN_PATTERN.search(query):
            raise InvalidArgument(
                "INVALID_ARGUMENT: The query contains a token. Send it in the header Authorization: Bearer <token>: addresses are written to logs."
            )
        if KEY_PATTERN.search(query):
            raise InvalidArgument(
                "INVALID_ARGUMENT: The query contains an API key. Send it in the header Authorization: Bearer <key>, and rotate this key: addresses are"
                " written to logs."
            )
        if self._authentication is None:
            return KEYLESS
        presented = credential(Headers(scope=scope))
        principal = self._authentication.remembered(presented)
        if principal is None:
            principal = await self._pools.run(ACCESS, partial(self._authentication.authenticate, presented))
        if principal is KEYLESS and TOOL_DOOR in scope["state"]:
            raise Unauthenticated("missing", "A tool sends the token of its call: use the `client` that the tool receives.")
        return principal

    def _refusal(self, error: HibernautError | ServerStops, scope: Scope) -> ASGIApp:
        if scope["type"] != "http":
            return WebSocketClose(code=1008)
        if isinstance(error, ServerStops):
            return JSONResponse({"detail": "The server stops."}, 503, {"retry-after": "2"})
        scope["state"] |= {ERROR: error.code, WHY: reason_of(error)}
        headers = headers_of(error)
        if isinstance(error, Unauthenticated):
            logger.info("request not authenticated", extra={"fault": error.fault})
            headers["www-authenticate"] = f'Bearer realm="hibernaut", error="{error.fault}", error_description="{error.hint}"'
        return JSONResponse(body_of(error), status_of(error), headers)
