"""The run's event log: what followers are shown, in gapless numbers. Events refer to messages; no body is kept twice."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics


class MessageEvent(Schema):
    """The `index`-th LettaMessage of a row of the log. `streamed`: followers of tokens were shown it as deltas already."""

    kind: Literal["message"] = "message"
    message_id: str
    index: int
    streamed: bool = False


DeltaType = Literal["reasoning_message", "assistant_message", "tool_call_message", "approval_request_message"]


class DeltaEvent(Schema):
    """A piece of a message as the model wrote it, of a run that streams tokens (Letta V1 API, digest 6.3).

    `message_id` is the row's id if the attempt that wrote this commits; `index` is the place of the message in its row, for the otid.
    `text` is a piece of the text, of the reasoning, or of the arguments of the call `call_id`; `name` stands on the call's first piece.
    `native`: reasoning of the model's own kind, not text that an agent keeps to itself.
    """

    kind: Literal["delta"] = "delta"
    message_type: DeltaType
    message_id: str
    step_id: str
    index: int
    text: str = ""
    native: bool = False
    name: str | None = None
    call_id: str | None = None
    at: Moment


class CompactionEvent(Schema):
    """The window is being compacted; shown to those who asked for compaction messages. `summary_id` is the id of the summary's row."""

    kind: Literal["compaction"] = "compaction"
    summary_id: str
    at: Moment
    data: JsonObject = Field(default_factory=dict)


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


RunEvent = Annotated[
    MessageEvent | DeltaEvent | CompactionEvent | StopEvent | ErrorEvent | UsageEvent | DoneEvent, Field(discriminator="kind")
]


class EventBatch(Schema):
    """Events with consecutive numbers, the first of them `first_seq`: one item of the table."""

    first_seq: int
    events: list[RunEvent]
