"""Connections to a provider. Each call has a connection of its own while it lasts, so that aborting it affects no other call.

A shared pool does not reveal which connection serves which call before the response begins, and some servers send nothing before
the first token. Each line is therefore an HTTP client of its own, which is cheap, and is reused by the next call. Knows no
provider.
"""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from hibernaut.adapters.certificates import certificates
from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import Request

IDLE_SECONDS = 60.0
"""Seconds of idleness after which a line is closed, the next time another line is returned."""


class Closable(Protocol):
    """An HTTP client."""

    def close(self) -> None:
        """Close the client's connections."""


C = TypeVar("C", bound=Closable)


class Sockets:
    """The connections of one line, as its client opens them: one, but where its last one was closed. Redirects are not followed:
    they would take prompts and keys elsewhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._call = 0
        self.broken = False

    def watch(self, request: Request) -> None:
        """A request hook of httpx that reports the steps of the request to this object."""
        request.extensions["trace"] = self._on_trace

    def begin(self) -> Callable[[], None]:
        """A function that aborts the call which begins now, from any thread; it does nothing after the call's end."""
        with self._lock:
            call = self._call

        def hang_up() -> None:
            with self._lock:
                if call == self._call:
                    self.broken = True
                    for each in self._open:
                        _shut(each)

        return hang_up

    def end(self) -> None:
        """Mark the call as finished, so that it can no longer be aborted."""
        with self._lock:
            self._call += 1

    def _on_trace(self, _event: str, info: Mapping[str, object]) -> None:
        """Shut down a connection that is opened after the call was aborted, so that writing to it fails."""
        tell = getattr(info.get("return_value"), "get_extra_info", None)
        opened = tell("socket") if tell is not None else None
        if isinstance(opened, socket.socket):
            with self._lock:
                self._open = [*(each for each in self._open if each.fileno() >= 0), opened]
                if self.broken:
                    _shut(opened)


class Connection(Generic[C]):
    """An HTTP client with its connections."""

    def __init__(self, client: C, sockets: Sockets) -> None:
        self.client = client
        self.sockets = sockets
        self.used_at = 0.0
        self.close = weakref.finalize(self, client.close)


@immutable
class Line(Generic[C]):
    """A call in progress: its client, and the function that aborts it."""

    client: C
    hang_up: Callable[[], None]


Dial = Callable[[Callable[["Request"], None], "SSLContext"], C]
"""Makes an HTTP client with this request hook and these TLS certificates."""


class Connections(Generic[C]):
    """The lines to one provider. Thread-safe. The first call makes the first client."""

    def __init__(self, dial: Dial[C]) -> None:
        self._dial = dial
        self._lock = threading.Lock()
        self._free: list[Connection[C]] = []

    @contextmanager
    def call(self) -> Iterator[Line[C]]:
        """A line for one call. After a successful call the line is reused; otherwise it is closed."""
        line = self._take()
        well = False
        try:
            yield Line(line.client, line.sockets.begin())
            well = True
        finally:
            line.sockets.end()
            if well and not line.sockets.broken:
                self._give_back(line)
            else:
                line.close()

    def _take(self) -> Connection[C]:
        with self._lock:
            if self._free:
                return self._free.pop()
        sockets = Sockets()
        return Connection(self._dial(sockets.watch, certificates()), sockets)

    def _give_back(self, line: Connection[C]) -> None:
        """Return a line. The most recently used line is reused first, so that unneeded ones become idle."""
        line.used_at = time.monotonic()
        with self._lock:
            self._free.append(line)
            idle = [each for each in self._free if each.used_at < line.used_at - IDLE_SECONDS]
            self._free = self._free[len(idle) :]
        for each in idle:
            each.close()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        # Not the method of a TLS socket, which would detach it from a thread that is reading.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
