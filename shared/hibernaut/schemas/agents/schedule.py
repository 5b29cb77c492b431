"""Schedules: what an agent does at a time, or again and again (Letta V1 API, API 2.4).

Letta V1 has one-time and recurring messages. Rates, time zones, the other actions, pauses and outcomes are extensions of
Hibernaut.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, StringConstraints, Tag

from hibernaut.schemas.base import Json, Moment, Schema, Whole
from hibernaut.schemas.content import InputPart
from hibernaut.schemas.ids import AgentId, pattern
from hibernaut.schemas.limits import Name, Note, Small, Url
from hibernaut.schemas.messages.letta_message import MessageType
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.stored import Stored

ScheduleId = Annotated[str, StringConstraints(pattern=pattern("schedule"))]
MOST_MESSAGES = 20
"""The largest number of messages that one schedule sends."""
MOST_OUTCOMES = 10
"""The number of outcomes that a schedule remembers."""
MOST_TYPES = 20
LONGEST_EXPRESSION = 200
"""Characters of a cron or rate expression, and of a time zone's name."""

ScheduleAction = Literal["message", "sleeptime", "compaction"]
"""What a schedule does: it sends messages, starts a sleep-time run of a group, or compacts the agent's conversation."""
PauseReason = Literal["request", "key_unusable"]
"""Why a schedule is paused: by a request; because the API key that it acts for was revoked or has expired."""
OutcomeStatus = Literal["accepted", "queued", "started", "completed", "failed"]
"""What became of an occurrence: its run owns the conversation, or waits in the queue; its compaction has begun, or is complete;
or it failed.
"""


def _typed_part(part: Json) -> Json:
    """V1's clients may leave out `type` in a text, and in the source of an image."""
    if not isinstance(part, dict):
        return part
    if "type" not in part and "text" in part:
        return {"type": "text", **part}
    source = part.get("source")
    return {**part, "source": {"type": "base64", **source}} if isinstance(source, dict) and "data" in source else part


class ScheduledMessage(Schema):
    """One message of a schedule. Each occurrence gives its messages otids of its own, in place of `otid`."""

    content: list[Annotated[InputPart, BeforeValidator(_typed_part)]] | str
    role: Literal["user", "assistant", "system"]
    name: str | None = None
    otid: str | None = None
    sender_id: str | None = None
    type: Literal["message"] | None = "message"


class ScheduledMessageCreate(ScheduledMessage):
    """A message of a request, with the limits of a message that is sent."""

    name: Name | None = None
    otid: Note | None = None
    sender_id: Name | None = None


class OneTimeSchedule(Schema):
    """Once, at `scheduled_at`: milliseconds since 1970."""

    type: Literal["one-time"] = "one-time"
    scheduled_at: float


class RecurringSchedule(Schema):
    """By a cron expression of five fields, in the named time zone."""

    type: Literal["recurring"] = "recurring"
    cron_expression: str = Field(min_length=1, max_length=LONGEST_EXPRESSION)
    timezone: str = Field(default="UTC", max_length=LONGEST_EXPRESSION)


class RateSchedule(Schema):
    """Again and again after a time such as `5 minutes`, counted from the moment at which it was set."""

    type: Literal["rate"] = "rate"
    rate_expression: str = Field(min_length=1, max_length=LONGEST_EXPRESSION)


def _kind(value: Json) -> str:
    """V1's one-time schedules may lack `type`."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return str(kind or "one-time")


Timing = Annotated[
    Annotated[OneTimeSchedule, Tag("one-time")]
    | Annotated[RecurringSchedule, Tag("recurring")]
    | Annotated[RateSchedule, Tag("rate")],
    Discriminator(_kind),
]


class ScheduleMessages(Schema):
    """What a schedule sends, and with which options; empty for the other actions."""

    messages: list[ScheduledMessage] = Field(default_factory=list)
    callback_url: str | None = None
    include_return_message_types: list[MessageType] | None = None
    max_steps: Whole | None = None


class CreateSchedule(Schema):
    """The request for a new schedule. `action` and `group_id` are extensions of Hibernaut."""

    messages: Small[list[ScheduledMessageCreate]] = Field(default_factory=list, max_length=MOST_MESSAGES)
    schedule: Timing
    callback_url: Url | None = None
    include_return_message_types: list[MessageType] | None = Field(default=None, max_length=MOST_TYPES)
    max_steps: Whole | None = Field(default=None, ge=1)
    action: ScheduleAction = "message"
    group_id: Name | None = None


class UpdateSchedule(Schema):
    """The request to change a schedule; what is not sent stays."""

    messages: Small[list[ScheduledMessageCreate]] | None = Field(default=None, min_length=1, max_length=MOST_MESSAGES)
    schedule: Timing | None = None
    callback_url: Url | None = None
    include_return_message_types: list[MessageType] | None = Field(default=None, max_length=MOST_TYPES)
    max_steps: Whole | None = Field(default=None, ge=1)


class OutcomeError(Schema):
    """Why an occurrence failed. `code`: one of `schemas.errors`, or `key_unusable`."""

    code: str
    message: str


class ScheduleOutcome(Schema):
    """What became of one occurrence. `scheduled_at`: its nominal time; null: it was requested ("run now"). `missed_since`: the
    earliest of several missed times, for all of which it stands.
    """

    scheduled_at: Moment | None = None
    fired_at: Moment
    status: OutcomeStatus
    run_id: str | None = None
    missed_since: Moment | None = None
    error: OutcomeError | None = None


class ShownOutcome(ScheduleOutcome):
    """An outcome with what its run says when it is read: `run_status` and `stop_reason`; null: it has no run, the run was
    deleted, or it was not read.
    """

    run_status: RunStatus | None = None
    stop_reason: StopReason | None = None


class StoredSchedule(Stored):
    """The record in the table: what is done, and when. `anchored_at`: the moment from which a rate counts."""

    id: str
    agent_id: str
    action: ScheduleAction = "message"
    group_id: str | None = None
    message: ScheduleMessages = Field(default_factory=ScheduleMessages)
    schedule: Timing
    created_at: Moment
    updated_at: Moment
    anchored_at: Moment


class Schedule(Schema):
    """A schedule as the API shows it. The first five fields are those of Letta V1. `outcomes`: the last ten, newest first. Lists
    read only the run of the newest outcome.
    """

    id: ScheduleId
    agent_id: AgentId
    message: ScheduleMessages
    next_scheduled_time: str | None = None
    schedule: Timing
    action: ScheduleAction
    group_id: str | None = None
    paused: bool
    paused_reason: PauseReason | None = None
    outcomes: list[ShownOutcome]
    created_at: Moment
    updated_at: Moment


class CreatedSchedule(Schema):
    """The answer to a request for a new schedule."""

    id: ScheduleId
    next_scheduled_at: str | None = None


class ScheduleList(Schema):
    """A page of schedules, oldest first."""

    scheduled_messages: list[Schedule]
    has_next_page: bool


class DeletedSchedule(Schema):
    """The answer to a deletion."""

    success: Literal[True] = True


class ScheduleRun(Schema):
    """The answer to "run now". `run_id` null: the action has no run of its own."""

    schedule_id: ScheduleId
    status: OutcomeStatus
    run_id: str | None = None


AnyTiming = OneTimeSchedule | RecurringSchedule | RateSchedule
"""A timing, for code that decides by its type."""
