"""The local server: one app on one socket of this machine, until it is stopped.

Knows uvicorn. Must not know: which profile is served, or what is printed about it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from hibernaut.local.connection_cap import REFUSAL, ConnectionCap
from hibernaut.schemas.immutable import immutable

logger = logging.getLogger(__name__)

BACKLOG = 2048
"""Connections that wait to be accepted."""
AT_ONCE = 16
"""Connections that are accepted in one turn of the event loop: only those of earlier turns count for the limit."""
KEEP_ALIVE = 75
"""Seconds after which an idle connection is closed: longer than clients keep theirs, so that none is closed during a request."""
LARGEST_MESSAGE = 128 * 1024
"""Bytes of one WebSocket message of a client, as API Gateway takes; a larger one closes the connection with the code 1009."""
GRACE = 5
"""Seconds that current requests may continue after the stop."""


@immutable
class Patience:
    """How slowly a request may arrive. `head`: seconds for its head in all. `body`: seconds by which its body may lag behind
    `rate` bytes a second, silence included.
    """

    head: float = 20.0
    body: float = 60.0
    rate: float = 1_000.0


class BodyTime:
    """The seconds that a body has left to arrive (a leaky bucket). Silence takes from them, and each piece gives back what it may
    take at the lowest rate, up to the whole.
    """

    def __init__(self, limits: Patience) -> None:
        self._limits = limits
        self._ends: float | None = None

    def left(self, size: int, *, now: float) -> float:
        """The seconds from `now` on, after a piece of `size` bytes."""
        left = self._limits.body if self._ends is None else self._ends - now + size / self._limits.rate
        left = min(left, self._limits.body)
        self._ends = now + left
        return left


def listening(host: str, port: int) -> socket.socket:
    """A listening socket (port 0: a free one). Raises: OSError if the port is taken or the host does not belong to this
    machine.
    """
    # The protocol is set, unlike in socket.create_server: asyncio disables Nagle's delay (40 ms a reply) only on such sockets.
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
    """The HTTP address of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def own_host(host: str, listener: socket.socket) -> str:
    """The Host header of a client that uses `host`, the name or address on which the server listens. Browsers write an address of
    IPv6 in its short form (URL Standard, 3.5), in lower case as names.
    """
    port = listener.getsockname()[1]
    with suppress(ValueError):  # it is a name
        host = str(ipaddress.ip_address(host))
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}").lower()


def loopback(host: str) -> bool:
    """Whether only this machine can reach a server on this host. A name counts as the addresses to which it resolves."""
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
        patience: Patience = Patience(),
        door: socket.socket | None = None,
        connections: int | None = None,
    ) -> None:
        """`door`: a second socket to listen on. `ready` is called when the first request can be answered, `stopping` in a thread
        when the stop begins: it lets runs end. `connections`: the largest number of open ones (None: `most_connections`).
        """
        counted = ConnectionCap(connections)

        class PatientConnection(_Connection):
            """A connection with this server's limits."""

            limits = patience
            cap = counted

        config = uvicorn.Config(
            app,
            http=PatientConnection,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws=_web_socket,  # type: ignore[arg-type]  # uvicorn calls it as it calls a class
            ws_max_size=LARGEST_MESSAGE,
            ws_per_message_deflate=False,
            lifespan="off",
            backlog=AT_ONCE,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE,
        )
        self._listeners = [listener, *([door] if door is not None else [])]
        self._server = _Server(config, ready, stopping)

    def serve(self) -> None:
        """Serve until stopped. On the main thread an interrupt is raised again after the shutdown: KeyboardInterrupt."""
        try:
            self._server.run(sockets=self._listeners)
        finally:
            for listener in self._listeners:
                listener.close()

    def stop(self) -> None:
        """Let current requests finish, and make `serve` return."""
        self._server.should_exit = True


def _web_socket(**parts: Any) -> asyncio.Protocol:
    """The protocol of a connection that becomes a WebSocket; its library is imported at the first one."""
    from hibernaut.local.web_socket import WebSocketConnection

    return WebSocketConnection(**parts)


class _Connection(H11Protocol):
    """A connection with a time limit for incomplete requests, and a limit of their number: uvicorn alone has neither.

    Beyond the number the connection that has been idle for the longest time ends; if none is idle, the new one is refused.
    """

    limits: Patience
    cap: ConnectionCap
    _timer: asyncio.TimerHandle | None = None
    _waits_for_head = False
    _body: BodyTime | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.cap.most and not self.cap.give_up_idle():
            self.cap.refused()
            transport.write(REFUSAL)
            self.give_up()
            return
        self.cap.rests(self)
        self._expect_head()

    def give_up(self) -> None:
        """Close a connection without a request. It no longer counts."""
        self.connections.discard(self)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        self.cap.works(self)
        super().data_received(data)
        if self.transport.get_protocol() is self:
            self._look(len(data))
        else:  # It has become a WebSocket, which may be silent.
            self._expect_nothing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            self.cap.rests(self)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.cap.works(self)
        self._expect_nothing()
        super().connection_lost(exc)

    def _look(self, arrived: int = 0) -> None:
        match self.conn.their_state:
            case h11.SEND_BODY:
                body = self._body or BodyTime(self.limits)
                self._expect(body.left(arrived, now=self.loop.time()))
                self._body = body
            case h11.IDLE if self.conn.trailing_data[0]:
                self._expect_head()
            case _:  # The request is whole. Between requests, uvicorn's own limit holds.
                self._expect_nothing()

    def _expect_head(self) -> None:
        """A head has its time from its first byte on, however its bytes come."""
        if not self._waits_for_head:
            self._expect(self.limits.head)
            self._waits_for_head = True

    def _expect(self, seconds: float) -> None:
        self._expect_nothing()
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _expect_nothing(self) -> None:
        self._waits_for_head, self._body = False, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self.flow.read_paused:  # The app has not read what has come: the client is not to blame.
            self._expect(self.limits.body)
        else:
            logger.info("incomplete request dropped", extra={"part": "head" if self._waits_for_head else "body"})
            self.transport.close()


class _Server(uvicorn.Server):
    """uvicorn's server with our hooks for start and stop."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] | None, stopping: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._ready = ready
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio has set it to the number that it accepts at once.
        if self._ready is not None:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._stopping is not None:
            # On a thread: current requests wait for their runs, which this hook ends. The shutdown does not wait for it beyond
            # GRACE.
            threading.Thread(target=self._stopping, daemon=True, name="stopping").start()
        await super().shutdown(sockets)
