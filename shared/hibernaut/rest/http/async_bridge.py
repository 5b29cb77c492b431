"""The bridge between async routes and blocking work. A follower of a run waits on the event loop and occupies no
thread.

All blocking work of the app runs on the threads of a lane (`rest/http/lanes.py`).
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

import anyio

from hibernaut.rest.http.lanes import ADMISSIONS, BODIES, LOOKS, TURNS, Lane
from hibernaut.schemas.errors import NewerFormat, ServerBusy, StoreUnavailable
from hibernaut.schemas.faults.run_faults import RunUnreadable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.letta_message import LettaResponse
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.logs.run_log import RunLog

Result = TypeVar("Result")


class ServerStops(Exception):
    """The process stops while a request waits for a run. The run continues after the next start."""


@immutable
class WaitSettings:
    """Time limits of requests that wait for a run, in seconds.

    `plain`: the time after which the server sends white space to keep a blocking reply open. `silence`: the time without an event
    after which the server sends a ping or white space. `longest`: the time after which a stream ends, so that its client resumes
    it (None: never).
    `arriving`: the time for which a follower waits for a message that has not arrived yet.
    """

    plain: float = 45.0
    silence: float = 20.0
    longest: float | None = None
    arriving: float = 1.0


USUAL_WAITS = WaitSettings()
RETRY_AFTER = 1.0
"""Seconds after which a client may repeat a request that a full lane refused."""
PAUSE = 0.05
"""Seconds between two reads of a run that the table does not show, after the retries of each read."""


class ThreadPools:
    """The thread pools of all lanes, and the requests that wait for runs. May be used from several event loops."""

    def __init__(self, waits: WaitSettings = USUAL_WAITS) -> None:
        self.waits = waits
        self.closed = False
        self._lock = threading.Lock()
        self._pools: dict[Lane, ThreadPoolExecutor] = {}
        self._jobs: Counter[Lane] = Counter()
        self._waiting: set[_Alarm] = set()
        self._under_way: dict[asyncio.Future[Any], asyncio.AbstractEventLoop] = {}

    def close(self, grace: float = 2.0) -> None:
        """End all waits for runs. Current work may continue for `grace` seconds. May be called from any thread."""
        self.closed = True
        for alarm in tuple(self._waiting):
            alarm.ring()
        for future, loop in tuple(self._under_way.items()):
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(partial(loop.call_later, grace, future.cancel))

    def end(self) -> None:
        """Shut the thread pools down. Running jobs continue to their end; queued jobs do not start."""
        for pool in tuple(self._pools.values()):
            pool.shutdown(wait=False, cancel_futures=True)

    def enter(self, alarm: _Alarm) -> None:
        """Register an alarm that `close` rings."""
        self._waiting.add(alarm)

    def leave(self, alarm: _Alarm) -> None:
        """Remove a registered alarm."""
        self._waiting.discard(alarm)

    async def run(self, lane: Lane, job: Callable[[], Result]) -> Result:
        """Run a job of a route on its lane. Raises: ServerBusy if the lane is full; ServerStops, after which the job continues
        without a receiver of its result.
        """
        self.admit(lane)
        return await self._done(lane, job)

    async def work(self, job: Callable[[], Result]) -> Result:
        """Run a job of an accepted run, which may take as long as the run. The queue has no limit here: `admit` has checked it.
        Raises: ServerStops, as `run`.
        """
        return await self._done(TURNS, job)

    def begin(self, job: Callable[[], Result]) -> asyncio.Future[Result]:
        """Begin a job of an accepted run on the lane of `work`. Unlike there, the job continues if the future is cancelled, and
        if nobody awaits it.
        """
        return self._submitted(TURNS, job)

    async def take(self, job: Callable[[], Result]) -> Result:
        """Accept a request, on a lane that does not wait for runs. Raises: ServerBusy, ServerStops, as `run`."""
        return await self.run(ADMISSIONS, job)

    async def look(self, job: Callable[[], Result]) -> Result:
        """Perform short reads, also while the server stops."""
        return await self._submitted(LOOKS, job)

    async def parse(self, job: Callable[[], Result]) -> Result:
        """Read a large body. The queue has no limit: the body has arrived."""
        return await self._submitted(BODIES, job)

    def admit(self, lane: Lane) -> None:
        """Raises: ServerBusy if the queue of the lane is full."""
        if self._jobs[lane] >= lane.threads + lane.waiting:
            raise ServerBusy(f"The server is busy: {lane.waiting} requests of the kind {lane.name!r} wait already.", RETRY_AFTER)

    async def _done(self, lane: Lane, job: Callable[[], Result]) -> Result:
        if self.closed:
            raise ServerStops
        future = self._submitted(lane, job)
        self._under_way[future] = asyncio.get_running_loop()
        try:
            return await future
        except asyncio.CancelledError:
            if self.closed:
                raise ServerStops from None
            raise
        finally:
            del self._under_way[future]

    def _submitted(self, lane: Lane, job: Callable[[], Result]) -> asyncio.Future[Result]:
        """Submit a job to its pool. If its caller is cancelled, the job still counts until it ends, so the lane's limits hold."""
        with self._lock:
            pool = self._pools.get(lane)
            if pool is None:
                pool = self._pools[lane] = ThreadPoolExecutor(lane.threads, thread_name_prefix=lane.name)
            future = pool.submit(copy_context().run, job)
            self._jobs[lane] += 1
        future.add_done_callback(partial(self._release, lane))
        return asyncio.wrap_future(future)

    def _release(self, lane: Lane, _future: object) -> None:
        with self._lock:
            self._jobs[lane] -= 1


async def follow(
    run_follower: RunFollower, pools: ThreadPools, log: RunLog, read: Callable[[], Sequence[str | None]]
) -> AsyncIterator[str]:
    """The texts that `read` returns for new events of the log; "" after each silence. Ends at the end of the log, after `longest`
    seconds, or when the server stops.
    """
    clock = asyncio.get_running_loop().time
    ends = clock() + pools.waits.longest if pools.waits.longest is not None else float("inf")
    last_sent, looks = clock(), 0
    async with _Alarm(run_follower, pools, log.run_id) as alarm:
        while True:
            try:
                found = await pools.look(read)
            except StoreUnavailable as error:
                if not passes(error):
                    raise
                found = ()  # the next read gets the events
            looks = 0 if found else looks + 1
            text = "".join(one for one in found if one)
            silent = not text and clock() - last_sent >= pools.waits.silence
            if text or silent:
                last_sent = clock()
                yield text
            if log.done or pools.closed or clock() >= ends:
                return
            if not found:
                remaining = min(last_sent + pools.waits.silence, ends) - clock()
                await alarm.wait(max(0.0, min(run_follower.patience(looks - 1), remaining)))


def passes(error: StoreUnavailable) -> bool:
    """Whether a follower reads again after this error: the table was busy or out of reach for all retries of one read."""
    return not isinstance(error, NewerFormat)


async def accepted(pools: ThreadPools, run_id: str, read: Callable[[], Result]) -> Result:
    """What `read` finds of a run whose message was accepted. While the table is busy it is read again, for `plain` seconds: no
    byte of the reply is sent before. Raises: RunUnreadable after that time, or when the server stops; the errors of `read`.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + min(pools.waits.plain, pools.waits.longest or pools.waits.plain)
    while True:
        try:
            return await pools.look(read)
        except StoreUnavailable as error:
            if not passes(error) or pools.closed or clock() >= until:
                raise RunUnreadable(run_id, error.retry_after) from error
            await asyncio.sleep(PAUSE)


async def response(run_follower: RunFollower, pools: ThreadPools, run_id: str) -> LettaResponse:
    """The whole reply of a run, after its end. Raises: NotFound, ServerStops, and the error with which the run failed."""

    async def look() -> LettaResponse | None:
        try:
            return await pools.look(partial(run_follower.response, run_id))
        except StoreUnavailable as error:
            if not passes(error):
                raise
            return None

    looks = 0
    found = await look()
    if found is not None:
        return found
    async with _Alarm(run_follower, pools, run_id) as alarm:
        while True:
            found = await look()
            if found is not None:
                return found
            if pools.closed:
                raise ServerStops
            await alarm.wait(run_follower.patience(looks))
            looks += 1


class _Alarm:
    """Wakes a follower on its event loop. Any thread may ring; a ring before the wait counts."""

    def __init__(self, run_follower: RunFollower, pools: ThreadPools, run_id: str) -> None:
        self._run_follower = run_follower
        self._pools = pools
        self._run_id = run_id
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake the follower. Callable from any thread."""
        with suppress(RuntimeError):  # the loop is closed: it has no followers
            self._loop.call_soon_threadsafe(self._rung.set)

    async def __aenter__(self) -> _Alarm:
        self._leave = self._run_follower.watch(self._run_id, self.ring)
        self._pools.enter(self)
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._pools.leave(self)
        self._leave()

    async def wait(self, seconds: float) -> None:
        """Wait until a notice arrives or the time is over."""
        with anyio.move_on_after(seconds):
            await self._rung.wait()
        self._rung.clear()
