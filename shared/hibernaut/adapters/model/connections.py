"""Lines to a provider: each call has a connection to itself while it lasts, so that hanging up breaks off that one, whatever it waits for.

A pool that calls share does not say which of its connections serves whom before the answer begins, and some servers begin theirs with the
first word. So each line is an SDK's client of its own, which is cheap, and is kept for the next call. Knows no provider.
"""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import Request

IDLE_SECONDS = 60.0
"""After so long without a call a line is closed, once another one is given back."""


class Client(Protocol):
    """An SDK's."""

    def close(self) -> None:
        """Close its connections."""


C = TypeVar("C", bound=Client)


class Sockets:
    """The connections of one line, as its client opens them: one, but where its last one was closed. Redirects are not followed: they
    would take prompts and keys elsewhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._call = 0
        self.broken = False

    def watch(self, request: Request) -> None:
        """A request hook of httpx: what the request does is told here."""
        request.extensions["trace"] = self._told

    def begin(self) -> Callable[[], None]:
        """What hangs up on the call that begins now, from any thread, and does nothing once it is over."""
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
        """The call is over: nobody can hang up on it any more."""
        with self._lock:
            self._call += 1

    def _told(self, _event: str, info: Mapping[str, object]) -> None:
        """A connection that is made after somebody hung up is of no use: whoever writes to it finds it broken."""
        tell = getattr(info.get("return_value"), "get_extra_info", None)
        made = tell("socket") if tell is not None else None
        if isinstance(made, socket.socket):
            with self._lock:
                self._open = [*(each for each in self._open if each.fileno() >= 0), made]
                if self.broken:
                    _shut(made)


class Line(Generic[C]):
    def __init__(self, client: C, sockets: Sockets) -> None:
        self.client = client
        self.sockets = sockets
        self.used_at = 0.0
        self.close = weakref.finalize(self, client.close)


@dataclass(frozen=True, slots=True)
class Call(Generic[C]):
    """A call under way: the client to make it with, and what breaks it off."""

    client: C
    hang_up: Callable[[], None]


Dial = Callable[[Callable[["Request"], None], "SSLContext"], C]
"""Makes an SDK's client, with this request hook and these certificates."""


class Lines(Generic[C]):
    """Thread-safe. Nothing is made before the first call."""

    def __init__(self, dial: Dial[C]) -> None:
        self._dial = dial
        self._lock = threading.Lock()
        self._free: list[Line[C]] = []
        self._tls: SSLContext | None = None

    @contextmanager
    def call(self) -> Iterator[Call[C]]:
        """A line for one call. It is kept where the call ends well; else it is closed, with whatever is still on it."""
        line = self._taken()
        well = False
        try:
            yield Call(line.client, line.sockets.begin())
            well = True
        finally:
            line.sockets.end()
            if well and not line.sockets.broken:
                self._give_back(line)
            else:
                line.close()

    def _taken(self) -> Line[C]:
        with self._lock:
            if self._free:
                return self._free.pop()
            tls = self._tls = self._tls or _certificates()
        sockets = Sockets()
        return Line(self._dial(sockets.watch, tls), sockets)

    def _give_back(self, line: Line[C]) -> None:
        """The newest is used next, so that those which nobody needs any more are the oldest."""
        line.used_at = time.monotonic()
        with self._lock:
            self._free.append(line)
            idle = [each for each in self._free if each.used_at < line.used_at - IDLE_SECONDS]
            self._free = self._free[len(idle) :]
        for each in idle:
            each.close()


def _certificates() -> SSLContext:
    from httpx2 import create_ssl_context

    return create_ssl_context()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        # Not the method of a TLS socket, which would take it from under whoever reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
