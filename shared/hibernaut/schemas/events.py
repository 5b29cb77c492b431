"""The run's event log: what followers are shown, in gapless numbers. Events refer to messages; no body is kept twice."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import Schema
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics


class MessageEvent(Schema):
    """The `index`-th LettaMessage of a row of the log."""

    kind: Literal["message"] = "message"
    message_id: str
    index: int


class StopEvent(Schema):
    kind: Literal["stop"] = "stop"
    stop_reason: StopReason


class ErrorEvent(Schema):
    """How the run failed (Letta V1 API, digest 6.2)."""

    kind: Literal["error"] = "error"
    error_type: str
    message: str
    detail: str | None = None


class UsageEvent(Schema):
    kind: Literal["usage"] = "usage"
    usage: LettaUsageStatistics


class DoneEvent(Schema):
    kind: Literal["done"] = "done"


RunEvent = Annotated[MessageEvent | StopEvent | ErrorEvent | UsageEvent | DoneEvent, Field(discriminator="kind")]


class EventBatch(Schema):
    """Events with consecutive numbers, the first of them `first_seq`: one item of the table."""

    first_seq: int
    events: list[RunEvent]
