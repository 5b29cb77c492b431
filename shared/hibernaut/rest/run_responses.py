"""The ways in which a request to an agent is answered: whole, as a stream, or as the rest of a stream (architecture 5).

A whole reply that takes long is held open: it begins with white space, which JSON allows before a value, so that nobody between
takes the connection for dead. From then on it is always a valid reply with a stop reason and the run's id, whatever becomes of the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial

from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from hibernaut.ports.table import Contended, TableError
from hibernaut.rest import async_bridge
from hibernaut.rest.async_bridge import Lanes
from hibernaut.rest.dependencies import Services
from hibernaut.rest.json_responses import JSON, reply
from hibernaut.rest.lanes import TURNS
from hibernaut.rest.streaming import refusal, streaming
from hibernaut.schemas.errors import ApprovalPending, HibernautError
from hibernaut.schemas.letta_message import LettaResponse, LettaStopReason
from hibernaut.schemas.send import RetrieveStreamRequest
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.runs.sending import SendRequest

SPACE = b" "
PAUSE = 0.05
"""Seconds between two looks for a message that has not arrived yet."""


Shape = Callable[[str, LettaResponse], BaseModel]
"""What a reply of a run (by its id) is shown as."""


def _as_it_is(_run_id: str, whole: LettaResponse) -> BaseModel:
    return whole


async def whole(services: Services, lanes: Lanes, asked: SendRequest, shape: Shape = _as_it_is) -> Response:
    """The whole reply in its `shape`, when the run has ended. Raises: why the request is refused, and how the run failed."""
    lanes.admit(TURNS)  # Before anything is accepted: a run that is must not wait for a thread that is not there.
    accepted = await lanes.take(partial(services.sending.accept, asked))
    drive = None
    if not accepted.attached and not accepted.waits:
        drive = partial(services.sending.start, accepted.run_id, inline=True)
    return await _answer(services.following, lanes, accepted.run_id, drive, shape)


async def streamed(services: Services, lanes: Lanes, asked: SendRequest, *, pings: bool) -> Response:
    """The run as server-sent events. Raises: why the request is refused, but a pending approval is told by the stream."""
    try:
        log = await lanes.take(lambda: services.following.log(begin(services, asked)))
    except ApprovalPending as error:
        return refusal(error, pings=pings)
    return streaming(services.following, lanes, log, pings=pings)


async def resumed(services: Services, lanes: Lanes, run_id: str, body: RetrieveStreamRequest) -> Response:
    """What an uninterrupted client got after the event that this one has seen last. Raises: InvalidArgument, NotFound, LogExpired."""
    log = await lanes.look(partial(services.following.resumed, run_id, body.starting_after))
    return streaming(services.following, lanes, log, pings=bool(body.include_pings))


async def run_for(services: Services, lanes: Lanes, conversation: str, body: RetrieveStreamRequest) -> str:
    """The run that the caller wants to follow. A message that he names may still be on its way.

    Raises: InvalidArgument, NotFound.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + lanes.waits.arriving
    if body.run_id is None and body.otid is not None:
        known = partial(services.following.known, conversation, body.otid)
        while not await lanes.look(known) and clock() < until:  # noqa: ASYNC110 - it is written elsewhere, maybe by another process
            await asyncio.sleep(PAUSE)
    found = partial(services.following.run_for, conversation, run_id=body.run_id, otid=body.otid)
    return await lanes.look(found)


def begin(services: Services, asked: SendRequest) -> str:
    """The id of the request's run, which is under way then. One that was there already, or waits, is driven by somebody else."""
    accepted = services.sending.accept(asked)
    if not accepted.attached and not accepted.waits:
        services.sending.start(accepted.run_id)
    return accepted.run_id


async def _answer(services: RunFollower, lanes: Lanes, run_id: str, drive: Callable[[], None] | None, shape: Shape) -> Response:
    def driven(drive: Callable[[], None]) -> LettaResponse | None:
        drive()
        with suppress(Contended):  # the table is busy; the reply stays there
            return services.response(run_id)
        return None

    async def ended() -> LettaResponse:
        # The thread that has driven the run to its end reads the reply too: another hand-over would cost more than the read.
        if drive is not None and (found := await lanes.work(partial(driven, drive))) is not None:
            return found
        return await async_bridge.response(services, lanes, run_id)

    ending = asyncio.ensure_future(ended())
    try:
        await asyncio.wait({ending}, timeout=lanes.waits.plain)
    except asyncio.CancelledError:
        ending.cancel()
        raise
    if ending.done():
        return reply(shape(run_id, ending.result()))
    told = partial(_told, services, run_id, shape)
    return StreamingResponse(_held_open(lanes, ending, told), media_type=JSON)


async def _held_open(lanes: Lanes, ending: asyncio.Future[LettaResponse], told: Callable[[], bytes]) -> AsyncIterator[bytes]:
    clock = asyncio.get_running_loop().time
    ends = clock() + lanes.waits.longest - lanes.waits.plain if lanes.waits.longest is not None else float("inf")
    try:
        while not ending.done() and clock() < ends:
            yield SPACE
            await asyncio.wait({ending}, timeout=max(0.0, min(lanes.waits.silence, ends - clock())))
        yield await lanes.look(told)
    finally:
        if not ending.cancel() and not ending.cancelled():
            ending.exception()  # looked at, so that nobody is told that it was not: the run's own record says how it ended


def _told(services: RunFollower, run_id: str, shape: Shape) -> bytes:
    try:
        outcome = services.outcome(run_id)
    except (HibernautError, TableError):
        stop = LettaStopReason(stop_reason=StopReason.ERROR)
        outcome = LettaResponse(messages=[], stop_reason=stop, usage=LettaUsageStatistics(run_ids=[run_id]))
    return bytes(reply(shape(run_id, outcome)).body)
