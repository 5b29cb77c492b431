"""httpx's transports that connect to the addresses which a function chooses for each request. Imported with the first request."""

from __future__ import annotations

from collections.abc import Callable
from ssl import SSLContext

import httpx2
from anyio import to_thread

from hibernaut.adapters.door_closed import DoorClosed

Addresses = Callable[[httpx2.URL], list[str]]
"""The addresses that a request may connect to. Raises: DoorClosed."""
NOT_CONNECTED = "no connection"


class AddressRefused(httpx2.ConnectError):
    """The request was not sent. The message describes the fault of its address, for the client that named it."""


class PinnedTransport(httpx2.BaseTransport):
    """Connects each request to the first of its addresses that answers. The name and the checked certificate stay those of the
    URL.

    Each host has its own connections: a connection with a certificate for one name is not used for another name at the same
    address.
    """

    def __init__(self, addresses: Addresses, tls: SSLContext) -> None:
        self._addresses = addresses
        self._tls = tls
        self._hosts: dict[str, httpx2.HTTPTransport] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises: AddressRefused, and as httpx's own transport."""
        try:
            found = self._addresses(request.url)
        except DoorClosed as closed:
            raise _refused(closed, request) from closed
        failure: httpx2.TransportError = httpx2.ConnectError(NOT_CONNECTED, request=request)
        for address in found:
            try:
                return self._to(request.url.host).handle_request(_pinned(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    def _to(self, host: str) -> httpx2.HTTPTransport:
        if host not in self._hosts:
            self._hosts[host] = httpx2.HTTPTransport(verify=self._tls, trust_env=False)
        return self._hosts[host]

    def close(self) -> None:
        """Close all connections."""
        for transport in list(self._hosts.values()):
            transport.close()


class AsyncPinnedTransport(httpx2.AsyncBaseTransport):
    """`PinnedTransport` for asynchronous clients. Names are resolved on a thread."""

    def __init__(self, addresses: Addresses, tls: SSLContext) -> None:
        self._addresses = addresses
        self._tls = tls
        self._hosts: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises: AddressRefused, and as httpx's own transport."""
        try:
            found = await to_thread.run_sync(self._addresses, request.url, abandon_on_cancel=True)
        except DoorClosed as closed:
            raise _refused(closed, request) from closed
        failure: httpx2.TransportError = httpx2.ConnectError(NOT_CONNECTED, request=request)
        for address in found:
            try:
                return await self._to(request.url.host).handle_async_request(_pinned(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    def _to(self, host: str) -> httpx2.AsyncHTTPTransport:
        if host not in self._hosts:
            self._hosts[host] = httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False)
        return self._hosts[host]

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in list(self._hosts.values()):
            await transport.aclose()


def _refused(closed: DoorClosed, request: httpx2.Request) -> httpx2.ConnectError:
    if closed.is_public:
        return AddressRefused(str(closed), request=request)
    return httpx2.ConnectError(NOT_CONNECTED, request=request)


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    """The request to this address. Its headers are kept: `Host` was set from the URL when the request was built."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
