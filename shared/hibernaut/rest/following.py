"""The one async seam: followers wait on the loop, so that many of them hold no thread each (architecture 5).

Work for messages has threads of its own, and so have the short looks of followers: a route that reads or cancels never waits behind them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync

from hibernaut.schemas.events import DoneEvent
from hibernaut.schemas.letta_message import LettaResponse
from hibernaut.services.following import Followed, Following

Result = TypeVar("Result")

WORKERS = 200
"""Requests whose run may go through its steps on the request's own thread at the same time."""
LOOKERS = 16


class ServerStops(Exception):
    """The process ends while somebody waits for a run, which goes on when it is back."""


class Threads:
    """Where the app's blocking work for messages is done, and who waits for it."""

    def __init__(self) -> None:
        self._work = anyio.CapacityLimiter(WORKERS)
        self._looks = anyio.CapacityLimiter(LOOKERS)
        self._waiting: set[_Alarm] = set()
        self._under_way: dict[asyncio.Future[Any], asyncio.AbstractEventLoop] = {}
        self.closed = False

    def close(self, grace: float = 2.0) -> None:
        """Send everybody away who waits for a run that will not end here; work under way has `grace` seconds. From any thread."""
        self.closed = True
        for alarm in tuple(self._waiting):
            alarm.ring()
        for future, loop in tuple(self._under_way.items()):
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(partial(loop.call_later, grace, future.cancel))

    def waits(self, alarm: _Alarm) -> None:
        """This one wants to know of the end."""
        self._waiting.add(alarm)

    def leaves(self, alarm: _Alarm) -> None:
        """No more."""
        self._waiting.discard(alarm)

    async def work(self, job: Callable[[], Result]) -> Result:
        """Do what may take as long as a run. Raises: ServerStops, and then it goes on without anybody to tell."""
        if self.closed:
            raise ServerStops
        future = asyncio.ensure_future(run_sync(job, limiter=self._work, abandon_on_cancel=True))
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
        return await run_sync(job, limiter=self._looks)


async def follow(
    following: Following, threads: Threads, tenant: str, run_id: str, after: int = 0
) -> AsyncIterator[tuple[Sequence[Followed], float]]:
    """The run's events after a number, as they come, to the last one: each time some of them, or none and the seconds of silence so far.

    Raises: NotFound.
    """

    def look() -> tuple[bool, list[Followed]]:
        # In this order: events that were written before the end was seen are then seen too.
        ended = following.finished(tenant, run_id)
        return ended, following.events(tenant, run_id, after)

    silence, looks = 0.0, 0
    async with _Alarm(following, threads, run_id) as alarm:
        while True:
            ended, events = await threads.look(look)
            if events:
                silence, looks, after = 0.0, 0, events[-1].seq
                yield events, silence
                if isinstance(events[-1].event, DoneEvent):
                    return
                continue
            if ended or threads.closed:
                return
            waited = following.patience(looks)
            silence, looks = silence + waited, looks + 1
            await alarm.wait(waited)
            yield (), silence


async def response(following: Following, threads: Threads, tenant: str, run_id: str) -> LettaResponse:
    """The whole reply of a run, as soon as it has ended. Raises: NotFound, ServerStops, and the error that the run failed with."""

    def look() -> LettaResponse | None:
        return following.response(tenant, run_id) if following.finished(tenant, run_id) else None

    looks = 0
    found = await threads.look(look)
    if found is not None:
        return found
    async with _Alarm(following, threads, run_id) as alarm:
        while True:
            found = await threads.look(look)
            if found is not None:
                return found
            if threads.closed:
                raise ServerStops
            await alarm.wait(following.patience(looks))
            looks += 1


class _Alarm:
    """Wakes a follower on its loop from whatever thread gives notice. A notice before the wait counts."""

    def __init__(self, following: Following, threads: Threads, run_id: str) -> None:
        self._following = following
        self._threads = threads
        self._run_id = run_id
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # the loop is closed: its followers are gone
            self._loop.call_soon_threadsafe(self._rung.set)

    async def __aenter__(self) -> _Alarm:
        self._leave = self._following.watch(self._run_id, self.ring)
        self._threads.waits(self)
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._threads.leaves(self)
        self._leave()

    async def wait(self, seconds: float) -> None:
        """Until it rings, or that long."""
        with anyio.move_on_after(seconds):
            await self._rung.wait()
        self._rung.clear()
