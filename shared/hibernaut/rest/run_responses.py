"""The replies to a request to an agent: a whole reply, a stream, or the rest of a stream.

A whole reply that takes long begins with white space, which JSON allows before a value, so that no proxy closes the connection as
idle. After the white space the reply is always valid, with a stop reason and the run's id, whatever the outcome of the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial

from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from hibernaut.ports.storage.table import TableError
from hibernaut.rest.dependencies import Services
from hibernaut.rest.http import async_bridge
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.http.json_responses import JSON, reply
from hibernaut.rest.http.lanes import TURNS
from hibernaut.rest.http.streaming import MEDIA_TYPE, refusal, stream, streaming
from hibernaut.schemas.errors import ApprovalPending, HibernautError, StoreUnavailable
from hibernaut.schemas.messages.letta_message import LettaResponse, LettaStopReason
from hibernaut.schemas.runs.send import RetrieveStreamRequest
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.logs.run_log import RunLog
from hibernaut.services.sending.sending import SendRequest

SPACE = b" "
PAUSE = 0.05
"""Seconds between two checks for a message that has not arrived yet."""


Driving = asyncio.Future[None]
"""The work of a thread that drives a run."""
Shape = Callable[[str, LettaResponse], BaseModel]
"""Converts the reply of a run (by its id) to the model that is sent."""


def _unchanged(_run_id: str, whole: LettaResponse) -> BaseModel:
    return whole


async def whole(services: Services, pools: ThreadPools, request: SendRequest, shape: Shape = _unchanged) -> Response:
    """The whole reply in its `shape`, after the end of the run.

    Raises: HibernautError if the request is refused or the run failed.
    """
    pools.admit(TURNS)  # Before the request is accepted: an accepted run must not wait for a free thread.
    accepted = await pools.take(partial(services.sending.accept, request))
    drive = None
    if not accepted.attached and not accepted.waits:
        drive = partial(services.sending.start, accepted.run_id, inline=True)
    return await _answer(services.run_follower, pools, accepted.run_id, drive, shape)


async def streamed(services: Services, pools: ThreadPools, request: SendRequest, *, pings: bool) -> Response:
    """The run as server-sent events.

    Raises: HibernautError if the request is refused, RunUnreadable as `followed`. A pending approval is reported inside the
    stream.
    """
    try:
        log, driving = await followed(services, pools, request)
    except ApprovalPending as error:
        return refusal(error, pings=pings)
    return StreamingResponse(
        until_driven(stream(services.run_follower, pools, log, pings=pings), log, driving), media_type=MEDIA_TYPE
    )


async def followed(services: Services, pools: ThreadPools, request: SendRequest) -> tuple[RunLog, Driving | None]:
    """Accept the request and begin its run; returns the log that the caller follows, and the work of driving the run if a thread
    of this process does it.

    The thread may be occupied until the end of the run, since the caller waits for it. A background run is started elsewhere.
    Raises: HibernautError if the request is refused; RunUnreadable if it is accepted and the table stays busy.
    """
    if request.background:
        run_id = await pools.take(partial(begin, services, request))
        return await async_bridge.accepted(pools, run_id, partial(services.run_follower.log, run_id)), None
    pools.admit(TURNS)
    accepted = await pools.take(partial(services.sending.accept, request))
    driving = None
    if not accepted.attached and not accepted.waits:
        driving = pools.begin(partial(services.sending.start, accepted.run_id, inline=True))
        driving.add_done_callback(_retrieve_outcome)
    log = await async_bridge.accepted(pools, accepted.run_id, partial(services.run_follower.log, accepted.run_id))
    return log, driving


async def until_driven(texts: AsyncIterator[str], log: RunLog, driving: Driving | None) -> AsyncIterator[str]:
    """The texts of a stream. It ends after the work of driving the run has ended: a function may be frozen at the end of its
    response, and that work includes what follows the last event, such as the start of the next run.
    """
    async for text in texts:
        yield text
    if driving is not None and log.at_end:
        await asyncio.wait({driving})


async def resumed(services: Services, pools: ThreadPools, run_id: str, body: RetrieveStreamRequest) -> Response:
    """The events of a run after the last one that the client has received, in the form of an uninterrupted stream.

    Raises: InvalidArgument, NotFound, LogExpired.
    """
    log = await pools.look(partial(services.run_follower.resumed, run_id, body.starting_after))
    return streaming(services.run_follower, pools, log, pings=bool(body.include_pings))


async def run_for(services: Services, pools: ThreadPools, conversation: str, body: RetrieveStreamRequest) -> str:
    """The id of the run in the request.

    If the request names a message by its `otid`, the function waits until the message has arrived. Raises: InvalidArgument,
    NotFound.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + pools.waits.arriving
    if body.run_id is None and body.otid is not None:
        has_arrived = partial(services.run_follower.known, conversation, body.otid)
        while not await pools.look(has_arrived) and clock() < until:  # noqa: ASYNC110 - another process may write it
            await asyncio.sleep(PAUSE)
    find_run = partial(services.run_follower.run_for, conversation, run_id=body.run_id, otid=body.otid)
    return await pools.look(find_run)


def _retrieve_outcome(driving: Driving) -> None:
    """Read the outcome, so that asyncio does not log it as never retrieved."""
    if not driving.cancelled():
        driving.exception()


def begin(services: Services, request: SendRequest) -> str:
    """Accept the request and start its run; returns the run's id.

    A run to which the request attaches, or that waits in the queue, is not started here. Raises: HibernautError if the request is
    refused.
    """
    accepted = services.sending.accept(request)
    if not accepted.attached and not accepted.waits:
        services.sending.start(accepted.run_id)
    return accepted.run_id


async def _answer(
    services: RunFollower, pools: ThreadPools, run_id: str, drive: Callable[[], None] | None, shape: Shape
) -> Response:
    def driven(drive: Callable[[], None]) -> LettaResponse | None:
        drive()
        with suppress(StoreUnavailable):  # the follower reads the reply later
            return services.response(run_id)
        return None

    async def ended() -> LettaResponse:
        # The thread that executed the run also reads the reply: a second hand-over to a thread would cost more than the read.
        if drive is not None and (found := await pools.work(partial(driven, drive))) is not None:
            return found
        return await async_bridge.response(services, pools, run_id)

    ending = asyncio.ensure_future(ended())
    try:
        await asyncio.wait({ending}, timeout=pools.waits.plain)
    except asyncio.CancelledError:
        ending.cancel()
        raise
    if ending.done():
        return reply(shape(run_id, ending.result()))
    final_body = partial(_final_body, services, run_id, shape)
    return StreamingResponse(_padded(pools, ending, final_body), media_type=JSON)


async def _padded(
    pools: ThreadPools, ending: asyncio.Future[LettaResponse], final_body: Callable[[], bytes]
) -> AsyncIterator[bytes]:
    """White space until the run or the time for it ends, then the body."""
    clock = asyncio.get_running_loop().time
    ends = clock() + pools.waits.longest - pools.waits.plain if pools.waits.longest is not None else float("inf")
    try:
        while not ending.done() and clock() < ends:
            yield SPACE
            await asyncio.wait({ending}, timeout=max(0.0, min(pools.waits.silence, ends - clock())))
        yield await pools.look(final_body)
    finally:
        if not ending.cancel() and not ending.cancelled():
            ending.exception()  # read, so that asyncio does not log it as never retrieved: the run's record has the outcome


def _final_body(services: RunFollower, run_id: str, shape: Shape) -> bytes:
    """The body for the present outcome of the run. If the outcome cannot be read, the stop reason is `error`."""
    try:
        outcome = services.outcome(run_id)
    except (HibernautError, TableError):
        stop = LettaStopReason(stop_reason=StopReason.ERROR)
        outcome = LettaResponse(messages=[], stop_reason=stop, usage=LettaUsageStatistics(run_ids=[run_id]))
    return bytes(reply(shape(run_id, outcome)).body)
