"""A run as server-sent events (Letta V1 API, digest 6.1 and 6.2).

Each event is one `data:` line of compact JSON. Stop reason and usage bear no id, run or number; an error stands behind `event: error`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import assert_never

from pydantic import BaseModel

from hibernaut.rest import errors
from hibernaut.rest.following import Threads, follow
from hibernaut.schemas.base import message_date
from hibernaut.schemas.errors import ContextWindowExceeded, InvalidModelResponse, ModelError, rebuilt
from hibernaut.schemas.events import CompactionEvent, DeltaEvent, DoneEvent, ErrorEvent, MessageEvent, StopEvent, UsageEvent
from hibernaut.schemas.ids import made_at
from hibernaut.schemas.letta_message import LettaErrorMessage, LettaStopReason, Ping
from hibernaut.services.following import Followed, Following

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = 20.0
"""Seconds of silence after which a ping is sent."""
DONE = "data: [DONE]\n\n"


async def stream(
    following: Following, threads: Threads, tenant: str, run_id: str, *, pings: bool, numbered: bool = False
) -> AsyncIterator[str]:
    """The whole run, as it goes. `numbered`: messages bear the number that a follower can resume from."""
    if pings:
        yield _ping(run_id)
    quiet = 0.0
    async for events, silence in follow(following, threads, tenant, run_id):
        for one in events:
            text = told(one, run_id, numbered=numbered)
            if text is not None:
                yield text
        quiet = 0.0 if silence == 0.0 else quiet
        if pings and silence - quiet >= KEEP_ALIVE:
            quiet = silence
            yield _ping(run_id)


def told(one: Followed, run_id: str, *, numbered: bool = False) -> str | None:
    """One event as it goes over the wire; None where the request filtered it out."""
    match one.event:
        case MessageEvent():
            if one.message is None:
                return None
            return _data(one.message.model_copy(update={"seq_id": one.seq}) if numbered else one.message)
        case DeltaEvent() | CompactionEvent():
            return None
        case StopEvent(stop_reason=reason):
            return _data(LettaStopReason(stop_reason=reason))
        case ErrorEvent():
            return "event: error\n" + _data(_error(one.event, run_id))
        case UsageEvent(usage=usage):
            return _data(usage)
        case DoneEvent():
            return DONE
    assert_never(one.event)


def _error(event: ErrorEvent, run_id: str) -> LettaErrorMessage:
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
    return LettaErrorMessage(run_id=run_id, error_type=kind, message=message, detail=event.detail or event.message)


def _ping(run_id: str) -> str:
    return _data(Ping(id=f"ping-{run_id[-36:]}", date=message_date(made_at(run_id)), run_id=run_id))


def _data(model: BaseModel) -> str:
    return f"data: {model.model_dump_json()}\n\n"
