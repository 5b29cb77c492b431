"""The TLS certificates that servers are checked by."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext


@cache
def certificates() -> SSLContext:
    """One list for all connections of a process: OpenSSL 3 parses it for 30 ms of CPU time (python/cpython#95031)."""
    from httpx2 import create_ssl_context

    return create_ssl_context()
