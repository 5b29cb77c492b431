"""Reads AWS's event streams (`application/vnd.amazon.eventstream`) as they arrive. Knows no model's format.

The frames and their headers: smithy.io/2.0/aws/amazon-eventstream.html.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.model.wire.http_stream import HttpAnswer
from hibernaut.adapters.model.wire.json_fields import text_of
from hibernaut.adapters.model.wire.provider_errors import model_error, read_refusal
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from botocore.eventstream import EventStreamMessage

CONTENT_TYPE = "application/vnd.amazon.eventstream"


@immutable
class StreamEvent:
    """`kind` is the header `:event-type`, `content` the payload."""

    kind: str
    content: JsonObject


def is_event_stream(answer: HttpAnswer) -> bool:
    """Whether a response is a stream of events, by its content type."""
    return CONTENT_TYPE in answer.response.headers.get("content-type", "")


def events(answer: HttpAnswer) -> Iterator[StreamEvent]:
    """The events until the stream ends, without an incomplete one at its end.

    Raises: ModelError for an exception in the stream; ModelConnection for damaged frames, and as `HttpAnswer`;
    InvalidModelResponse.
    """
    from botocore.eventstream import EventStreamBuffer, ParserError

    buffer = EventStreamBuffer()
    for piece in answer.pieces():
        buffer.add_data(piece)
        while True:
            try:
                message = next(buffer, None)
            except (ParserError, struct.error, KeyError) as error:
                raise ModelConnection(f"{answer.provider}: the stream is damaged ({type(error).__name__})") from error
            if message is None:
                break
            yield _event(answer.provider, message)


def chunks(answer: HttpAnswer) -> Iterator[JsonObject]:
    """The contents of the events `chunk` of InvokeModelWithResponseStream: the model's own events. Raises: as `events`."""
    for event in events(answer):
        if event.kind == "chunk":
            try:
                content = base64.b64decode(text_of(event.content, "bytes"), validate=True)
            except ValueError as error:
                raise InvalidModelResponse(f"{answer.provider}: a chunk of the stream is not base64") from error
            yield _object(answer.provider, content)


def _event(provider: str, message: EventStreamMessage) -> StreamEvent:
    headers = cast("Mapping[str, str]", message.headers)
    match headers.get(":message-type"):
        case "exception":
            kind = headers.get(":exception-type", "")
            message_text = text_of(_object(provider, message.payload), "message")
            raise model_error(read_refusal(provider, 200, {"type": kind, "message": message_text}, {}))
        case "error":
            error: JsonObject = {"type": headers.get(":error-code", ""), "message": headers.get(":error-message", "")}
            raise model_error(read_refusal(provider, 200, error, {}))
        case _:
            return StreamEvent(headers.get(":event-type", ""), _object(provider, message.payload))


def _object(provider: str, text: bytes) -> JsonObject:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidModelResponse(f"{provider}: an event of the stream is not JSON") from error
    if not isinstance(value, dict):
        raise InvalidModelResponse(f"{provider}: an event of the stream is not a JSON object")
    return value
