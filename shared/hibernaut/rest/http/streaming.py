"""A run as server-sent events (Letta V1 API, API 6.1 and 6.2).

Each event is one `data:` line of compact JSON. Stop reason and usage have no id, run or number. A line `event: error` precedes an
error. Only background runs show numbers: they count the events of the log, and the ping before the first event is number 1.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import assert_never

from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from hibernaut.domain.wire.run_failures import UNKNOWN_ERROR, error_message
from hibernaut.rest.http.async_bridge import ThreadPools, follow
from hibernaut.schemas.base import message_date
from hibernaut.schemas.errors import ApprovalPending
from hibernaut.schemas.ids import creation_time
from hibernaut.schemas.messages.letta_message import LettaErrorMessage, LettaStopReason, Ping
from hibernaut.schemas.runs.events import CompactionEvent, DeltaEvent, DoneEvent, ErrorEvent, MessageEvent, StopEvent, UsageEvent
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.stop import StopReason
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.logs.run_log import LoggedEvent, RunLog

MEDIA_TYPE = "text/event-stream"
DONE = "data: [DONE]\n\n"


def streaming(run_follower: RunFollower, pools: ThreadPools, log: RunLog, *, pings: bool) -> StreamingResponse:
    """The reply that streams the log from its present position."""
    return StreamingResponse(stream(run_follower, pools, log, pings=pings), media_type=MEDIA_TYPE)


async def stream(run_follower: RunFollower, pools: ThreadPools, log: RunLog, *, pings: bool) -> AsyncIterator[str]:
    """The events, with a ping at the start and after each silence. A stream that ends before its run does not end with
    `[DONE]`.
    """
    if pings:
        yield _ping(log.run_id, number_of(log, log.shown_seq))
    ended = False
    async for text in follow(run_follower, pools, log, partial(_new_events, log)):
        ended = text.endswith(DONE)
        if text:
            yield text
        elif pings:
            yield _ping(log.run_id, number_of(log, log.shown_seq))
    if log.at_end and not ended:
        yield DONE


def refusal(error: ApprovalPending, *, pings: bool) -> StreamingResponse:
    """The stream of a refused request: it reports that the conversation's pending approval must be answered first (digest
    5.4).
    """

    def events() -> Iterator[str]:
        if pings and (source_id := error.run_id or error.request_id):
            yield _ping(source_id, None)
        yield _data(LettaStopReason(stop_reason=StopReason.ERROR))
        message = LettaErrorMessage(
            run_id=error.run_id or "", error_type="internal_error", message=UNKNOWN_ERROR, detail=error.detail
        )
        yield _error(message)
        yield DONE

    return StreamingResponse(iter(list(events())), media_type=MEDIA_TYPE)


def _new_events(log: RunLog) -> list[str | None]:
    return [wire_text(one, log.run_id, number=number_of(log, one.shown_seq)) for one in log.look()]


def number_of(log: RunLog, seq: int) -> int | None:
    """The number of an event for the client; None if the run's events have no numbers."""
    return seq if log.numbered else None


def wire_text(one: LoggedEvent, run_id: str, *, number: int | None = None) -> str | None:
    """The wire form of an event; None if it has none. `number`: the number that the event shows, if any."""
    if isinstance(one.event, DoneEvent):
        return DONE
    message = wire_message(one, run_id, number=number)
    if message is None:
        return None
    return _error(message) if isinstance(message, LettaErrorMessage) else _data(message)


def wire_message(one: LoggedEvent, run_id: str, *, number: int | None = None) -> BaseModel | None:
    """What clients are sent for an event; None for a hidden event and for the end of a run."""
    match one.event:
        case MessageEvent() | DeltaEvent() | CompactionEvent():
            if one.message is None or number is None:
                return one.message
            return one.message.model_copy(update={"seq_id": number})
        case StopEvent(stop_reason=reason):
            return LettaStopReason(stop_reason=reason)
        case ErrorEvent(error_type=kind, message=text, detail=detail):
            return error_message(run_id, RunError(code=kind, message=text, detail=detail), number)
        case UsageEvent(usage=usage):
            return usage
        case DoneEvent():
            return None
    assert_never(one.event)


def _error(message: LettaErrorMessage) -> str:
    return "event: error\n" + _data(message)


def ping_of(source_id: str, number: int | None) -> Ping:
    """A ping with the id and the date of a run, or of the message that requests an approval."""
    run_id = source_id if source_id.startswith("run-") else None
    return Ping(id=f"ping-{source_id[-36:]}", date=message_date(creation_time(source_id)), seq_id=number, run_id=run_id)


def _ping(source_id: str, number: int | None) -> str:
    return _data(ping_of(source_id, number))


def _data(model: BaseModel) -> str:
    return f"data: {model.model_dump_json()}\n\n"
