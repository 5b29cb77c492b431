"""The one async seam: followers wait on the loop, so that many of them hold no thread each (architecture 5).

Runs have threads of their own here, and so have the taking in of requests and the short looks of followers: a route that reads or cancels
never waits behind them, and no message waits to be accepted behind the runs of others.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import anyio
from anyio.to_thread import run_sync

from hibernaut.ports.table import Contended
from hibernaut.schemas.letta_message import LettaResponse
from hibernaut.services.logs.run_follower import Following
from hibernaut.services.logs.run_log import RunLog

Result = TypeVar("Result")

WORKERS = 200
"""Requests whose run may go through its steps on the request's own thread at the same time."""
TAKERS = 32
"""Requests that are taken in at the same time."""
LOOKERS = 16


class ServerStops(Exception):
    """The process ends while somebody waits for a run, which goes on when it is back."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long somebody is kept waiting, in seconds.

    `plain`: until then a blocking reply is an ordinary one, after that it is held open. `silence`: after it a sign of life is sent.
    `longest`: after it a follower is sent away, to come back for the rest (None: never). `arriving`: so long is a message looked for that
    somebody wants to follow and nobody has sent.
    """

    plain: float = 45.0
    silence: float = 20.0
    longest: float | None = None
    arriving: float = 1.0


USUAL_WAITS = Waits()


class Lanes:
    """Where the app's blocking work for messages is done, and who waits for it. May be used from several event loops."""

    def __init__(self, waits: Waits = USUAL_WAITS) -> None:
        self.waits = waits
        self.closed = False
        self._lock = threading.Lock()
        self._limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, anyio.CapacityLimiter]] = WeakKeyDictionary()
        self._waiting: set[_Alarm] = set()
        self._under_way: dict[asyncio.Future[Any], asyncio.AbstractEventLoop] = {}

    def close(self, grace: float = 2.0) -> None:
        """Send everybody away who waits for a run that will not end here; work under way has `grace` seconds. From any thread."""
        self.closed = True
        for alarm in tuple(self._waiting):
            alarm.ring()
        for future, loop in tuple(self._under_way.items()):
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(partial(loop.call_later, grace, future.cancel))

    def enter(self, alarm: _Alarm) -> None:
        """This one wants to know of the end."""
        self._waiting.add(alarm)

    def leave(self, alarm: _Alarm) -> None:
        """No more."""
        self._waiting.discard(alarm)

    async def work(self, job: Callable[[], Result]) -> Result:
        """Do what may take as long as a run. Raises: ServerStops, and then it goes on without anybody to tell."""
        return await self._done(job, WORKERS)

    async def take(self, job: Callable[[], Result]) -> Result:
        """Take a request in: what may not wait behind runs. Raises: ServerStops, and then it goes on without anybody to tell."""
        return await self._done(job, TAKERS)

    async def _done(self, job: Callable[[], Result], most: int) -> Result:
        if self.closed:
            raise ServerStops
        future = asyncio.ensure_future(run_sync(job, limiter=self._limiter(most), abandon_on_cancel=True))
        self._under_way[future] = asyncio.get_running_loop()
        try:
            return await future
        except asyncio.CancelledError:
            if self.closed:
                raise ServerStops from None
            raise
        finally:
            del self._under_way[future]

    async def look(self, job: Callable[[], Result]) -> Result:
        """Do a few reads."""
        return await run_sync(job, limiter=self._limiter(LOOKERS))

    def _limiter(self, most: int) -> anyio.CapacityLimiter:
        """Its list of those who wait belongs to one loop, so each loop has its own."""
        with self._lock:
            own = self._limiters.setdefault(asyncio.get_running_loop(), {})
            return own.setdefault(most, anyio.CapacityLimiter(most))


async def follow(following: Following, lanes: Lanes, log: RunLog, read: Callable[[], Sequence[str | None]]) -> AsyncIterator[str]:
    """What `read` makes of the log's next events, as they come; "" after each silence. Ends with the log, or when it is time to go."""
    clock = asyncio.get_running_loop().time
    ends = clock() + lanes.waits.longest if lanes.waits.longest is not None else float("inf")
    heard, looks = clock(), 0
    async with _Alarm(following, lanes, log.run_id) as alarm:
        while True:
            try:
                found = await lanes.look(read)
            except Contended:  # the table is busy; what there is to read stays there
                found = ()
            looks = 0 if found else looks + 1
            text = "".join(one for one in found if one)
            silent = not text and clock() - heard >= lanes.waits.silence
            if text or silent:
                heard = clock()
                yield text
            if log.done or lanes.closed or clock() >= ends:
                return
            if not found:
                left = min(heard + lanes.waits.silence, ends) - clock()
                await alarm.wait(max(0.0, min(following.patience(looks - 1), left)))


async def response(following: Following, lanes: Lanes, tenant: str, run_id: str) -> LettaResponse:
    """The whole reply of a run, as soon as it has ended. Raises: NotFound, ServerStops, and the error that the run failed with."""

    async def look() -> LettaResponse | None:
        with suppress(Contended):
            return await lanes.look(lambda: following.response(tenant, run_id) if following.finished(tenant, run_id) else None)
        return None

    looks = 0
    found = await look()
    if found is not None:
        return found
    async with _Alarm(following, lanes, run_id) as alarm:
        while True:
            found = await look()
            if found is not None:
                return found
            if lanes.closed:
                raise ServerStops
            await alarm.wait(following.patience(looks))
            looks += 1


class _Alarm:
    """Wakes a follower on its loop from whatever thread gives notice. A notice before the wait counts."""

    def __init__(self, following: Following, lanes: Lanes, run_id: str) -> None:
        self._following = following
        self._lanes = lanes
        self._run_id = run_id
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # the loop is closed: its followers are gone
            self._loop.call_soon_threadsafe(self._rung.set)

    async def __aenter__(self) -> _Alarm:
        self._leave = self._following.watch(self._run_id, self.ring)
        self._lanes.enter(self)
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._lanes.leave(self)
        self._leave()

    async def wait(self, seconds: float) -> None:
        """Until it rings, or that long."""
        with anyio.move_on_after(seconds):
            await self._rung.wait()
        self._rung.clear()
