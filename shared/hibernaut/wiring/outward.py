"""Which private addresses outward requests may reach, besides the public internet.

HIBERNAUT_PRIVATE_ADDRESSES  for callbacks, webhooks, own providers and models' endpoints of clients with a key
                             (default: this machine; on AWS none)
HIBERNAUT_PRIVATE_PAGES      for pages that agents read with `fetch_webpage` (default: none)

Both are lists of host names and of networks, like `nas.local,192.168.1.0/24`, or `none`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_network

from hibernaut.adapters.addresses import PRIVATE, PUBLIC, THIS_MACHINE, AddressPolicy, Network
from hibernaut.schemas.immutable import immutable
from hibernaut.wiring.configuration.variables import BadSetting, list_in

ADDRESSES, PAGES = "HIBERNAUT_PRIVATE_ADDRESSES", "HIBERNAUT_PRIVATE_PAGES"
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")


@immutable
class OutwardPolicies:
    """The policy for addresses that clients with a key name, and that for pages that agents read."""

    clients: AddressPolicy
    pages: AddressPolicy


PUBLIC_ONLY = OutwardPolicies(PUBLIC, PUBLIC)
AT_HOME = OutwardPolicies(replace(THIS_MACHINE, setting=ADDRESSES), replace(PUBLIC, setting=PAGES))


def outward_in(variables: Mapping[str, str], *, home: bool) -> OutwardPolicies:
    """The policies that the variables describe. At home refusals name the variable: the clients are the operator's own. Raises:
    BadSetting.
    """
    usual = AT_HOME if home else PUBLIC_ONLY
    return OutwardPolicies(_policy(variables, ADDRESSES, usual.clients), _policy(variables, PAGES, usual.pages))


def _policy(variables: Mapping[str, str], name: str, default: AddressPolicy) -> AddressPolicy:
    entries = list_in(variables, name)
    policy = default if not entries else AddressPolicy()
    if entries not in ((), ("none",)):
        networks = {entry: _network(entry) for entry in entries}
        for entry, network in networks.items():
            _check(name, entry, network)
        hosts = frozenset(entry.removesuffix(".") for entry, network in networks.items() if network is None)
        policy = AddressPolicy(tuple(network for network in networks.values() if network is not None), hosts)
    return replace(policy, setting=default.setting)


def _check(name: str, entry: str, network: Network | None) -> None:
    if network is None:
        if entry == "none" or not _HOST.fullmatch(entry.removesuffix(".")) or entry.rpartition(".")[2].isdecimal():
            raise BadSetting(f"{name} must be host names and networks like nas.local,192.168.1.0/24, or none, not {entry!r}")
    elif not any(_within(network, wide) for wide in PRIVATE):
        raise BadSetting(
            f"{name} must name private networks, like 127.0.0.0/8 or 192.168.1.0/24, not {entry!r}: public addresses are reached anyway, "
            "and link-local ones, with the metadata services of clouds, never are"
        )


def _within(network: Network, wide: Network) -> bool:
    return network.version == wide.version and network.network_address in wide and network.broadcast_address in wide


def _network(entry: str) -> Network | None:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None
