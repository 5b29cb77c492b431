"""The texts of the protocol: reads what clients send, and writes what they are sent. No I/O.

API Gateway sends frames of at most 32 KB, so no message of the server is larger: events are collected up to that size, and an
event that alone is larger is sent in parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from fastapi import HTTPException
from pydantic import TypeAdapter, ValidationError
from starlette.responses import JSONResponse

from hibernaut.domain.wire.run_failures import UNKNOWN_ERROR
from hibernaut.ports.storage.table import ConditionFailed, Contended, OutcomeUnknown, TooLarge
from hibernaut.rest.http import errors
from hibernaut.rest.http.async_bridge import RETRY_AFTER, ServerStops
from hibernaut.rest.http.strict_json import read
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import (
    Conflict,
    HibernautError,
    InvalidArgument,
    PayloadTooLarge,
    ServerBusy,
    StoreUnavailable,
    Unauthenticated,
    Unprocessable,
)
from hibernaut.schemas.runs.socket import SocketAction

LARGEST = 30_000
"""Bytes of one message of the server: API Gateway's quota of a frame is 32 KB."""
PART = 7_000
"""Characters of an event in one part. A character has at most 4 bytes, so a part stays below `LARGEST`."""


@cache
def _actions() -> TypeAdapter[SocketAction]:
    return TypeAdapter(SocketAction)


def value_of(text: str) -> JsonObject:
    """The JSON object of a client's message. Raises: InvalidArgument."""
    try:
        value = read(text.encode("utf-8", "surrogatepass"))
    except json.JSONDecodeError as error:
        raise InvalidArgument(f"INVALID_ARGUMENT: The message is not JSON: {error.msg} at character {error.pos}.") from error
    except HTTPException as error:
        raise InvalidArgument(f"INVALID_ARGUMENT: {error.detail}") from error
    if not isinstance(value, dict):
        raise InvalidArgument("INVALID_ARGUMENT: The message is not a JSON object.")
    return value


def request_id_of(value: JsonObject) -> str | None:
    """The request id of a message that may be invalid otherwise."""
    found = value.get("request_id")
    return found[:64] if isinstance(found, str) else None


def action_of(value: JsonObject) -> SocketAction:
    """The action of a message. Raises: ValidationError."""
    return _actions().validate_python(value)


def events(request_id: str, run_id: str, after: int, numbered_events: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The messages for these events of a run. Each result: the number of the last complete event up to the message, and the
    message.

    An event is a number and its JSON. `after`: the number of the last event before them.
    """
    head = _text({"type": "events", "request_id": request_id, "run_id": run_id})[:-1]
    pending: list[str] = []
    size = 0
    for number, event in numbered_events:
        item = f'{{"seq_id":{number},"event":{event}}}'
        length = len(item.encode())
        if pending and size + length > LARGEST:
            yield after, f'{head},"events":[{",".join(pending)}]}}'
            pending, size = [], 0
        if length > LARGEST:
            *parts, last = _parts(request_id, run_id, number, event)
            yield from ((after, part) for part in parts)
            yield number, last
        else:
            pending.append(item)
            size += length + 1
        after = number
    if pending:
        yield after, f'{head},"events":[{",".join(pending)}]}}'


def _parts(request_id: str, run_id: str, number: int, event: str) -> Iterator[str]:
    pieces = [event[place : place + PART] for place in range(0, len(event), PART)]
    for index, piece in enumerate(pieces):
        place = {"seq_id": number, "part": index, "parts": len(pieces)}
        part = {"type": "part", "request_id": request_id, "run_id": run_id, **place, "text": piece}
        yield json.dumps(part, ensure_ascii=False, separators=(",", ":"))


def following(request_id: str, run_id: str, number: int) -> str:
    """The first answer to an action that follows a run: events after `number` come."""
    return _text({"type": "following", "request_id": request_id, "run_id": run_id, "starting_after": number})


def done(request_id: str, run_id: str, number: int) -> str:
    """The run has ended, and `number` is that of its last event."""
    return _text({"type": "done", "request_id": request_id, "run_id": run_id, "seq_id": number})


def interrupted(request_id: str, run_id: str, number: int) -> str:
    """The follow has ended before the run. It may be continued after `number`."""
    return _text({"type": "interrupted", "request_id": request_id, "run_id": run_id, "seq_id": number})


def cancelled(request_id: str, runs: Mapping[str, str]) -> str:
    """The outcome for each run that was to be cancelled."""
    return _text({"type": "cancelled", "request_id": request_id, "runs": dict(runs)})


def pong(request_id: str) -> str:
    """The answer to a ping."""
    return _text({"type": "pong", "request_id": request_id})


def refusal(error: Exception, request_id: str | None) -> str:
    """The error of a request, with the status and the body of the REST route."""
    typed = typed_error(error)
    if isinstance(error, ValidationError):
        body = errors.validation_body(error.errors(include_url=False, include_context=False, include_input=False))
    elif isinstance(typed, Unauthenticated):
        body = {"detail": typed.detail, "fault": typed.fault, "hint": typed.hint}
    elif type(typed) is HibernautError:
        body = {"detail": UNKNOWN_ERROR}
    else:
        body = errors.body_of(typed)
    status = errors.status_of(typed)
    after = errors.headers_of(typed).get("retry-after")
    again = {"retry_after": int(after)} if after is not None else {}
    return _text({"type": "error", "request_id": request_id, "status": status, "code": typed.code, **again, "error": body})


def typed_error(error: Exception) -> HibernautError:
    """The error as a HibernautError. An unknown error is logged by its line of code, never by its text."""
    match error:
        case HibernautError():
            return error
        case ValidationError():
            return Unprocessable("The message does not have the form of its action.")
        case ServerStops():
            return ServerBusy("The server stops; the run goes on when it is back.", RETRY_AFTER)
        case ConditionFailed():
            return Conflict("CONFLICT: The record was changed by another request at the same time.")
        case Contended() | OutcomeUnknown():
            return StoreUnavailable("The table is busy or does not answer; try again.", RETRY_AFTER)
        case TooLarge():
            return PayloadTooLarge("The request is larger than one transaction of the table can hold (4 MB, 100 records).")
        case _:
            errors.unknown_error(error, "websocket")
            return HibernautError(UNKNOWN_ERROR)


def denial(error: Exception) -> JSONResponse:
    """The HTTP response to a handshake that is refused."""
    typed = typed_error(error)
    body = errors.body_of(typed)
    if isinstance(typed, Unauthenticated):
        body = {"detail": typed.hint, "code": typed.code, "fault": typed.fault}
    return JSONResponse(body, errors.status_of(typed), errors.headers_of(typed))


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))
