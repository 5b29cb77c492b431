"""The door: every outward request to an address that a client, a model or a page names passes through it.

It judges the address of each request, redirects included: its form (`domain.web_addresses`), then the addresses of its host by a
policy (`adapters.addresses`). A name is resolved once for each request, and the connection goes to an address that was checked,
so that a name whose addresses change in between has no effect. The certificate and the header `Host` stay those of the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hibernaut.adapters.addresses import PUBLIC, AddressPolicy, Resolve, addresses_of
from hibernaut.adapters.certificates import certificates
from hibernaut.adapters.door_closed import DoorClosed
from hibernaut.domain.web_addresses import PORTS, address_fault

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import URL, AsyncClient, Auth, Client, Request, Timeout

MOST_ADDRESSES = 8
"""Addresses of one name that are tried."""
MOST_REDIRECTS = 5


class Door:
    """Makes HTTP clients that connect to the addresses of `policy` only. They take no proxy, key or certificate from the
    environment: a proxy would hide the address that is checked. Thread-safe.
    """

    def __init__(self, policy: AddressPolicy = PUBLIC, resolve: Resolve = addresses_of) -> None:
        self.policy = policy
        self._resolve = resolve

    def addresses(self, url: URL) -> list[str]:
        """The addresses that a request for `url` may connect to, in the order in which to try them; all addresses of a name must
        be allowed.

        Raises: DoorClosed.
        """
        host = url.raw_host.decode("ascii")
        fault = address_fault(url.scheme, host, url.port, user=bool(url.userinfo))
        if fault is not None:
            raise DoorClosed(fault, is_public=True)
        try:
            found = self._resolve(host, url.port or PORTS[url.scheme])
        except (OSError, UnicodeError):
            found = []
        name = host.lower().removesuffix(".")
        if not found or not all(self.policy.admits(name, address) for address in found):
            raise self._refusal(found)
        return found[:MOST_ADDRESSES]

    def _refusal(self, found: list[str]) -> DoorClosed:
        setting = self.policy.setting
        if not found:
            return DoorClosed("names an unknown host", is_public=bool(setting))
        return DoorClosed(f"leads to a private address that {setting} does not name", is_public=bool(setting))

    def dial(self, watch: Callable[[Request], None], tls: SSLContext) -> Client:
        """A client without redirects. `watch` is called with each request."""
        from httpx2 import Client

        from hibernaut.adapters.pinned_transport import PinnedTransport

        transport = PinnedTransport(self.addresses, tls)
        return Client(transport=transport, follow_redirects=False, trust_env=False, event_hooks={"request": [watch]})

    def client(self, seconds: float, *, follow_redirects: bool = False) -> Client:
        """A client with a limit in seconds for connecting and for each silence. `follow_redirects`: at most `MOST_REDIRECTS`,
        each checked as the first address is, and without `Authorization` at other origins.
        """
        from httpx2 import Client

        from hibernaut.adapters.pinned_transport import PinnedTransport

        transport = PinnedTransport(self.addresses, certificates())
        return Client(
            transport=transport,
            timeout=seconds,
            follow_redirects=follow_redirects,
            max_redirects=MOST_REDIRECTS,
            trust_env=False,
        )

    def async_client(
        self,
        headers: Mapping[str, str] | None = None,
        timeout: Timeout | float | None = None,
        auth: Auth | None = None,
        *,
        follow_redirects: bool = False,
    ) -> AsyncClient:
        """A client for responses that are streamed. `follow_redirects`: at most `MOST_REDIRECTS`, each checked as the first
        address is; only `Authorization` is withheld from other hosts, so follow none with further secret headers.
        """
        from httpx2 import AsyncClient

        from hibernaut.adapters.pinned_transport import AsyncPinnedTransport

        return AsyncClient(
            transport=AsyncPinnedTransport(self.addresses, certificates()),
            headers=dict(headers or {}),
            timeout=timeout if timeout is not None else 30.0,
            auth=auth,
            follow_redirects=follow_redirects,
            max_redirects=MOST_REDIRECTS,
            trust_env=False,
        )
