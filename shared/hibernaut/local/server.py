"""The local server: one app on one socket of this machine, until it is told to stop.

Knows uvicorn. Must not know: which profile is served, or what is printed about it.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

BACKLOG = 2048
KEEP_ALIVE = 75
"""Seconds that an idle connection is kept: longer than clients keep theirs, so that none is closed under a request."""
GRACE = 5
"""Seconds that requests under way have to end after the stop."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there (port 0: a free one). Raises: OSError where the port is taken or the host is not this machine's."""
    # The protocol is named, unlike in socket.create_server: asyncio switches off Nagle's delay (40 ms a reply) on such sockets only.
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def address(listener: socket.socket) -> str:
    """Where a listening socket is reached by HTTP."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def own_host(host: str, listener: socket.socket) -> str:
    """What the Host header says where a client uses `host`, the name or address that the server was told to listen on."""
    port = listener.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}".lower()


def loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there. A name counts by what it stands for."""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
        return bool(found) and all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
    except OSError:
        return False


class LocalServer:
    """Serves one app. `stop` may be called from any thread; in the main thread SIGINT and SIGTERM do the same."""

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        ready: Callable[[], None] | None = None,
        stopping: Callable[[], None] | None = None,
    ) -> None:
        """`ready` is called when the first request can be answered, `stopping` in a thread when the stop begins: it lets runs end."""
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE,
        )
        self._listener = listener
        self._server = _Server(config, ready, stopping)

    def serve(self) -> None:
        """Until it is stopped. In the main thread an interrupt is passed on when all has ended: KeyboardInterrupt."""
        with self._listener:
            self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """Answer what is under way, and return from `serve`."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] | None, stopping: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._ready = ready
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._stopping is not None:
            # Meanwhile: requests wait for their runs, which end because of it. Nobody waits for it beyond the grace.
            threading.Thread(target=self._stopping, daemon=True, name="stopping").start()
        await super().shutdown(sockets)
