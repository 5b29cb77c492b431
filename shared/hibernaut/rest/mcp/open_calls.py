"""The calls of this process that wait for a run, so that a notification can end the wait. Must not know the run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock

from hibernaut.rest.mcp.wire import RequestId
from hibernaut.schemas.immutable import immutable


@immutable
class CallKey:
    """The identity of a call: caller, session and id. The type of the id counts: "1" is not 1."""

    tenant: str
    key_id: str | None
    session: str
    request_id: RequestId
    is_text: bool


@dataclass(eq=False)
class _Wait:
    loop: asyncio.AbstractEventLoop
    over: asyncio.Event = field(default_factory=asyncio.Event)


class OpenCalls:
    """The waits of one process. Another process of the deployment knows nothing of them. May be used from several event loops."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waits: dict[CallKey, set[_Wait]] = {}

    @contextmanager
    def waiting(self, key: CallKey | None) -> Iterator[asyncio.Event]:
        """A wait, which `end` ends. A call without a key is ended by closing its connection only."""
        wait = _Wait(asyncio.get_running_loop())
        if key is None:
            yield wait.over
            return
        with self._lock:
            self._waits.setdefault(key, set()).add(wait)
        try:
            yield wait.over
        finally:
            with self._lock:
                waits = self._waits[key]
                waits.discard(wait)
                if not waits:
                    del self._waits[key]

    def end(self, key: CallKey) -> None:
        """End the waits of a call. A call that is unknown, or has its answer, stays as it is."""
        with self._lock:
            waits = [*self._waits.get(key, ())]
        for wait in waits:
            with suppress(RuntimeError):  # the loop is closed
                wait.loop.call_soon_threadsafe(wait.over.set)
