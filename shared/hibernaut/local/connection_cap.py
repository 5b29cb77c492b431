"""How many connections the local server holds open: clearly fewer than the process may have descriptors.

Databases, pipes of tools and connections to providers need descriptors too, so peers must not use all of them. Knows limits of
the process; must not know what is said on a connection.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Protocol

logger = logging.getLogger(__name__)

MOST = 10_000
"""The largest number of connections, however many descriptors the process may have."""
RESERVED = 512
"""The number of descriptors that are kept for everything else; half of them if the process may have fewer than twice as many."""
USUAL = 1024
"""Descriptors of a process on a system that does not tell its limit."""
EVERY = 60.0
"""Seconds between two lines of the log about refused connections."""
RETRY_AFTER = 5
"""Seconds after which a refused client may try again."""
_BODY = b'{"detail":"The server has too many open connections; try again."}'
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nretry-after: %d\r\nconnection: close\r\n\r\n%s" % (len(_BODY), RETRY_AFTER, _BODY)
)
"""The whole answer to a connection beyond the limit, which is written before its request is read."""


class Idle(Protocol):
    """A connection between two requests, or before its first one."""

    def give_up(self) -> None:
        """Close it."""


def most_connections() -> int:
    """The number of connections that may be open at once, by the process's limit of descriptors."""
    descriptors = USUAL
    if sys.platform != "win32":
        import resource

        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        descriptors = MOST + RESERVED if soft == resource.RLIM_INFINITY else soft
    return max(1, min(MOST, max(descriptors // 2, descriptors - RESERVED)))


class ConnectionCap:
    """The idle connections of one server, and the count of those that were refused. For one event loop."""

    def __init__(self, most: int | None = None) -> None:
        """`most`: the largest number of open connections; None: `most_connections`."""
        self.most = most if most is not None else most_connections()
        self._idle: dict[Idle, None] = {}
        self._refused = 0
        self._logged = float("-inf")

    def rests(self, connection: Idle) -> None:
        """Note that the connection is idle from now on."""
        self._idle.pop(connection, None)
        self._idle[connection] = None

    def works(self, connection: Idle) -> None:
        """Note that the connection has a request, or is closed."""
        self._idle.pop(connection, None)

    def give_up_idle(self) -> bool:
        """Close the connection that has been idle for the longest time. Returns False if there is none."""
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        self.works(oldest)
        oldest.give_up()
        return True

    def refused(self) -> None:
        """Count a refused connection, and log the count once in `EVERY` seconds."""
        self._refused += 1
        now = time.monotonic()
        if now - self._logged >= EVERY:
            logger.warning("connections refused", extra={"refused": self._refused, "most": self.most})
            self._logged, self._refused = now, 0
