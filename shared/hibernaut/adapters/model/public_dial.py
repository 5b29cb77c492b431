"""HTTP clients that connect to the public internet only, for addresses that a remote client chooses.

A name is resolved once for each request, and the connection goes to an address that was checked, so that a name whose address changes in between has no
effect. Every refusal reads like an unreachable server, so that requests do not reveal which names and ports exist in this network.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from hibernaut.adapters.addresses import addresses_of, is_public

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import BaseTransport, Client, Request

PORTS = {"http": 80, "https": 443}
Resolve = Callable[[str, int], list[str]]


def dial_public(watch: Callable[[Request], None], tls: SSLContext) -> Client:
    """A client for public addresses. The environment's proxies are not used: a proxy would hide the address that is checked."""
    from httpx2 import Client

    transport = guarded_transport()(tls, addresses_of, is_public)
    return Client(transport=transport, follow_redirects=False, trust_env=False, event_hooks={"request": [watch]})


@cache
def guarded_transport() -> Callable[[SSLContext, Resolve, Callable[[str], bool]], BaseTransport]:
    """The transport's class. It is made at the first call, because its base class is imported then."""
    from httpx2 import ConnectError, HTTPTransport, Response

    class GuardedTransport(HTTPTransport):
        """Connects to a host only if all its addresses are `allowed`. Name and certificate stay those of the URL."""

        def __init__(self, tls: SSLContext, resolve: Resolve, allowed: Callable[[str], bool]) -> None:
            super().__init__(verify=tls, trust_env=False)
            self._resolve = resolve
            self._allowed = allowed

        def handle_request(self, request: Request) -> Response:
            """Raises: httpx2.ConnectError."""
            url = request.url
            try:
                found = self._resolve(url.host, url.port or PORTS[url.scheme])
            except (OSError, UnicodeError) as error:
                raise ConnectError("no public address", request=request) from error
            if not found or not all(map(self._allowed, found)):
                raise ConnectError("no public address", request=request)
            # The header Host was set from the URL when the request was built.
            request.extensions = {**request.extensions, "sni_hostname": url.host}
            failure: ConnectError | None = None
            for number in found:
                request.url = url.copy_with(host=number)
                try:
                    return super().handle_request(request)
                except ConnectError as error:
                    failure = error
            raise failure or ConnectError("no public address", request=request)

    return GuardedTransport
