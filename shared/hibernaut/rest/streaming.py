"""A run as server-sent events (Letta V1 API, digest 6.1 and 6.2).

Each event is one `data:` line of compact JSON. Stop reason and usage bear no id, run or number; an error stands behind `event: error`.
Numbers are shown by runs in the background only: there they count the events of the log, and 1 is the ping before the first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import assert_never

from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from hibernaut.rest import errors
from hibernaut.rest.async_bridge import Lanes, follow
from hibernaut.schemas.base import message_date
from hibernaut.schemas.errors import ApprovalPending, ContextWindowExceeded, InvalidModelResponse, ModelError, rebuilt
from hibernaut.schemas.events import CompactionEvent, DeltaEvent, DoneEvent, ErrorEvent, MessageEvent, StopEvent, UsageEvent
from hibernaut.schemas.ids import made_at
from hibernaut.schemas.letta_message import LettaErrorMessage, LettaStopReason, Ping
from hibernaut.schemas.stop import StopReason
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.logs.run_log import LoggedEvent, RunLog

MEDIA_TYPE = "text/event-stream"
DONE = "data: [DONE]\n\n"


def streaming(following: RunFollower, lanes: Lanes, log: RunLog, *, pings: bool) -> StreamingResponse:
    """The log from where it stands, as it goes."""
    return StreamingResponse(stream(following, lanes, log, pings=pings), media_type=MEDIA_TYPE)


async def stream(following: RunFollower, lanes: Lanes, log: RunLog, *, pings: bool) -> AsyncIterator[str]:
    """The events, and a ping at once and after each long silence. It breaks off without `[DONE]` where there is more to come."""
    if pings:
        yield _ping(log.run_id, _number(log, log.shown_seq))
    ended = False
    async for text in follow(following, lanes, log, partial(_told, log)):
        ended = text.endswith(DONE)
        if text:
            yield text
        elif pings:
            yield _ping(log.run_id, _number(log, log.shown_seq))
    if log.at_end and not ended:
        yield DONE


def refusal(error: ApprovalPending, *, pings: bool) -> StreamingResponse:
    """A stream that only says why there is none: the conversation's pending approval must be answered first (digest 5.4)."""

    def told() -> Iterator[str]:
        if pings and (whose := error.run_id or error.request_id):
            yield _ping(whose, None)
        yield _data(LettaStopReason(stop_reason=StopReason.ERROR))
        told = LettaErrorMessage(
            run_id=error.run_id or "", error_type="internal_error", message=errors.UNKNOWN_ERROR, detail=error.detail
        )
        yield _error(told)
        yield DONE

    return StreamingResponse(iter(list(told())), media_type=MEDIA_TYPE)


def _told(log: RunLog) -> list[str | None]:
    return [told(one, log.run_id, number=_number(log, one.shown_seq)) for one in log.look()]


def _number(log: RunLog, shown: int) -> int | None:
    return shown if log.numbered else None


def told(one: LoggedEvent, run_id: str, *, number: int | None = None) -> str | None:
    """The wire form of an event; None where the event has none."""
    match one.event:
        case MessageEvent() | DeltaEvent() | CompactionEvent():
            if one.message is None:
                return None
            return _data(one.message if number is None else one.message.model_copy(update={"seq_id": number}))
        case StopEvent(stop_reason=reason):
            return _data(LettaStopReason(stop_reason=reason))
        case ErrorEvent():
            return _error(_message_of(one.event, run_id, number))
        case UsageEvent(usage=usage):
            return _data(usage)
        case DoneEvent():
            return DONE
    assert_never(one.event)


def _message_of(event: ErrorEvent, run_id: str, number: int | None) -> LettaErrorMessage:
    error = rebuilt(event.error_type, event.message)
    kind, message = "internal_error", errors.UNKNOWN_ERROR
    if isinstance(error, ModelError):
        kind, message = errors.model_text(error)
        if kind not in errors.STREAMED:
            kind = "llm_error"
    if isinstance(error, InvalidModelResponse):
        kind = "llm_empty_response"
    if isinstance(error, ContextWindowExceeded):
        kind = "context_window_overflow_in_system_prompt"
    detail = event.detail or event.message
    return LettaErrorMessage(run_id=run_id, error_type=kind, message=message, detail=detail, seq_id=number)


def _error(told: LettaErrorMessage) -> str:
    return "event: error\n" + _data(told)


def _ping(whose: str, number: int | None) -> str:
    run_id = whose if whose.startswith("run-") else None
    ping = Ping(id=f"ping-{whose[-36:]}", date=message_date(made_at(whose)), seq_id=number, run_id=run_id)
    return _data(ping)


def _data(model: BaseModel) -> str:
    return f"data: {model.model_dump_json()}\n\n"
