"""Which names this server answers to, and which web pages may call it.

A browser sends requests to this server for any page: to the server's address (a cross-site request), or under the page's own host
name once that name resolves to the server's address (DNS rebinding). The API runs code, so either would hand the machine to the
page. The guard refuses both before a request is routed. Clients outside of browsers send no `Origin`, and their `Host` is the
name they connect to.

Plain ASGI. Knows the headers Host, Origin and Sec-Fetch-Site; must not know any route.
"""

from __future__ import annotations

import logging

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hibernaut.rest.http.errors import body_of, status_of
from hibernaut.rest.http.request_log import ERROR
from hibernaut.schemas.errors import Forbidden, ForeignHost, ForeignOrigin
from hibernaut.schemas.immutable import immutable

logger = logging.getLogger(__name__)

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names that only reach the machine they are used on. No page can be loaded under them from elsewhere."""
PORTS = {"http": 80, "https": 443}
READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing, but where a route says otherwise (`OriginPolicy.check_change`). A page of another origin may send
them, and cannot read the reply unless CORS allows it.
"""
OWN = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for requests of the server's own pages and of the user's (Fetch Metadata, W3C)."""
QUOTED = 100
"""Characters of a header that an error quotes."""


@immutable
class OriginPolicy:
    """`hosts`: names that the server answers to beside the loopback names, each `name` (any port) or `name:port`.

    `origins`: foreign origins whose pages may call it, each `scheme://host` or `scheme://host:port`.
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def check(self, scope: Scope) -> None:
        """Check the host of a request, and the page that sends it, if its method is one that changes something. Raises:
        ForeignHost, ForeignOrigin.
        """
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if not self._answers_to(host, scope):
            quoted = ", ".join(hosts)[:QUOTED]
            raise ForeignHost(
                f"FOREIGN_HOST: This server does not answer to the host {quoted!r}. HIBERNAUT_ALLOWED_HOSTS adds host names."
            )
        if scope["method"] not in READING:
            self.check_change(scope)

    def check_change(self, scope: Scope) -> None:
        """Check that no foreign page sends a request that changes something, whatever its method is. Raises: ForeignOrigin."""
        headers = Headers(scope=scope)
        if not self._may_change(headers.get("host", "").lower(), headers, scope["scheme"]):
            origin = headers.get("origin", "")[:QUOTED]
            pages = f"Web pages of the origin {origin!r}" if origin else "Web pages of another site"
            raise ForeignOrigin(f"FOREIGN_ORIGIN: {pages} may not call this server. HIBERNAUT_CORS_ORIGINS adds origins.")

    def _answers_to(self, host: str, scope: Scope) -> bool:
        name, port = _split(host, scope["scheme"])
        own = (scope.get("server") or ("", None))[1]
        return (name in LOOPBACK and port == own) or name in self.hosts or f"{name}:{port}" in self.hosts

    def _may_change(self, host: str, headers: Headers, scheme: str) -> bool:
        """Whether a request that changes something comes from no browser, from a page of this server, or from an allowed
        origin.
        """
        origins = [origin.lower() for origin in headers.getlist("origin")]
        if len(origins) == 1 and origins[0] in self.origins:
            return True
        return set(origins) <= _own(scheme, host) and set(headers.getlist("sec-fetch-site")) <= OWN


def check_page(scope: Scope, origin: str) -> None:
    """Check that a page of this origin sends the request, for a key that is bound to it. Raises: ForeignOrigin."""
    headers = Headers(scope=scope)
    origins = [each.lower() for each in headers.getlist("origin")]
    if not origins and headers.getlist("sec-fetch-site") == [
        "same-origin"
    ]:  # a browser names no origin where a page reads from its own server
        origins = [origin] if origin in _own(scope["scheme"], headers.get("host", "").lower()) else []
    if origins != [origin]:
        raise ForeignOrigin(f"FOREIGN_ORIGIN: This token is for pages of {origin}, and the request comes from none of them.")


def _own(scheme: str, host: str) -> set[str]:
    """The origins of the server's own pages. A proxy that ends TLS passes requests on by plain HTTP."""
    return {f"{scheme}://{host}", f"https://{host}"}


def _split(host: str, scheme: str) -> tuple[str, int | None]:
    """Name and port of a Host header. The port is None where it is no number."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, PORTS[scheme]
    return name, int(port) if port.isascii() and port.isdigit() and len(port) <= len("65535") else None


class OriginGuard:
    """Answers 403 to what the policy refuses, before the app sees it."""

    def __init__(self, app: ASGIApp, policy: OriginPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        try:
            self._policy.check(scope)
        except Forbidden as error:
            scope.setdefault("state", {})[ERROR] = error.code
            logger.warning("request refused", extra={"error": error.code, "reason": error.detail})
            return await JSONResponse(body_of(error), status_of(error))(scope, receive, send)
        return await self._app(scope, receive, send)
