"""Decides which addresses outward requests may connect to: those of the public internet, and private ones that the operator
names.

The lists are IANA's registries of special-purpose addresses (RFC 6890 and its successors), written out here, because Python's own
result differs between its versions, and because Python counts some addresses as global that lead into private networks (NAT64,
6to4, Teredo, multicast).
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

from hibernaut.schemas.immutable import immutable

_SPECIAL_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",  # relays to 6to4
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
"""No other range belongs to public hosts: NAT64 (64:ff9b::/96), IPv4-mapped, unique local, link-local, site-local (fec0::/10),
multicast.
"""
_SPECIAL_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo (2001::/32) among them
            "2001:db8::/32",
            "2002::/16",  # 6to4: an IPv4 address is inside
            "3fff::/20",
        ),
    )
)

Network = IPv4Network | IPv6Network
PRIVATE: tuple[Network, ...] = (
    *map(IPv4Network, ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")),
    *map(IPv6Network, ("::1/128", "fc00::/7")),
)
"""The ranges of private networks and of this machine, which an operator may name. Link-local addresses are not among them: the
metadata services of clouds have such ones."""
_METADATA = IPv6Network("fd00:ec2::/32")
"""Amazon's metadata service and name servers, inside the range of private networks."""
Resolve = Callable[[str, int], list[str]]
"""The addresses of a name at a port."""


@immutable
class AddressPolicy:
    """The addresses that requests may connect to: public ones, private ones in `networks`, and those of the names `hosts` (in
    lower case).

    `setting`: the variable by which the operator names more of them, for the text of a refusal; empty: a refusal reads like an
    unreachable server, because its reader must not learn which names and ports exist in this network. `anywhere`: the operator
    named the address itself.
    """

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    setting: str = ""
    anywhere: bool = False

    @property
    def private(self) -> bool:
        """Whether any private address may be connected to."""
        return self.anywhere or bool(self.networks or self.hosts)

    def admits(self, host: str, address: str) -> bool:
        """Whether a request for `host` may connect to `address`, one of its addresses."""
        if self.anywhere or is_public(address):
            return True
        if "%" in address:
            return False
        ip = ip_address(address)
        if ip in _METADATA or not any(ip in network for network in PRIVATE):
            return False
        return host in self.hosts or any(ip in network for network in self.networks)


PUBLIC = AddressPolicy()
"""The public internet alone."""
THIS_MACHINE = AddressPolicy(networks=(IPv4Network("127.0.0.0/8"), IPv6Network("::1/128")))
"""The public internet and this machine."""
ANYWHERE = AddressPolicy(anywhere=True)
"""For addresses that the operator names, like that of an identity provider."""


def is_public(address: str) -> bool:
    """Whether the address belongs to a public host: not to this machine, its network, or its provider's internal services."""
    if "%" in address:  # A zone is one of this machine's own links.
        return False
    ip = ip_address(address)
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _SPECIAL_V4)
    return ip in _GLOBAL_V6 and not any(ip in network for network in _SPECIAL_V6)


def addresses_of(host: str, port: int) -> list[str]:
    """The addresses of a name, in the order in which to try them. Raises: OSError."""
    return list(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
