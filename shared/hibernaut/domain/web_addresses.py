"""The form of an outward address: the checks before a name is resolved. Pure; `adapters.addresses` judges the addresses of
names.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address

PORTS = {"http": 80, "https": 443}
"""The schemes of outward requests, with their usual ports."""
_BLOCKED = (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 161 "
    "179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 "
    "5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
)
BLOCKED_PORTS = frozenset(map(int, _BLOCKED.split()))
"""Ports of protocols that a request of HTTP could be smuggled into (Fetch standard, "port blocking")."""
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def address_fault(scheme: str, host: str, port: int | None, *, user: bool) -> str | None:
    """The fault of an address, as the end of a sentence; None if there is none. `host` without brackets; `user`: it names a user
    or a password.

    A host that is a number, in part or as a whole, must be four decimal numbers: `0x7f.1`, `2130706433` and `0177.0.0.1` mean the
    same machine to some programs and none to others.
    """
    if scheme not in PORTS:
        return "begins with neither http:// nor https://"
    if not host:
        return "names no host"
    if user:
        return "contains a user name or a password"
    if port is not None and (port in BLOCKED_PORTS or port > 65_535):
        return f"names the port {port}, which no server of web pages has"
    if "%" in host:
        return "names a host with a percent sign: no name has one, and the zone of an address is of this machine"
    return None if _is_plain(host) else f"names its host by a number ({host}) that is not written as four decimal numbers"


def _is_plain(host: str) -> bool:
    """Whether the host is no number, or a dotted one in its usual form (URL standard, "ends in a number")."""
    if ":" in host or not _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2].lower()):
        return True
    try:
        IPv4Address(host)
    except AddressValueError:
        return False
    return True
