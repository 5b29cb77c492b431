"""The event log of a run, with gapless sequence numbers. Events refer to messages, so that no message body is stored twice."""

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics


class MessageEvent(Schema):
    """The `index`-th LettaMessage of a row of the log. `streamed`: followers of the token stream have already received it as
    deltas.
    """

    kind: Literal["message"] = "message"
    message_id: str
    index: int
    streamed: bool = False


DeltaType = Literal["reasoning_message", "assistant_message", "tool_call_message", "approval_request_message"]


class DeltaEvent(Schema):
    """A piece of a message that the model is writing, in a run that streams tokens (Letta V1 API, API 6.3).

    `message_id` is the id that the row has if this attempt commits; `index` is the position of the message in its row, for the
    otid. `text` is a piece of text, of reasoning, or of the arguments of the call `call_id`; the call's first piece has `name`.
    `native`: the model's own reasoning, not the private text of an agent.
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
    """The window is being compacted; sent to callers that requested compaction messages. `summary_id` is the id of the summary's
    row.
    """

    kind: Literal["compaction"] = "compaction"
    summary_id: str
    at: Moment
    data: JsonObject = Field(default_factory=dict)


class StopEvent(Schema):
    """The run has stopped for this reason."""

    kind: Literal["stop"] = "stop"
    stop_reason: StopReason


class ErrorEvent(Schema):
    """The error with which the run failed (Letta V1 API, API 6.2)."""

    kind: Literal["error"] = "error"
    error_type: str
    message: str
    detail: str | None = None


class UsageEvent(Schema):
    """The usage of the run."""

    kind: Literal["usage"] = "usage"
    usage: LettaUsageStatistics


class DoneEvent(Schema):
    """The end of the event log."""

    kind: Literal["done"] = "done"


RunEvent = Annotated[
    MessageEvent | DeltaEvent | CompactionEvent | StopEvent | ErrorEvent | UsageEvent | DoneEvent, Field(discriminator="kind")
]


class EventBatch(Schema):
    """Events with consecutive sequence numbers from `first_seq`: one item of the table."""

    first_seq: int
    events: list[RunEvent]
