"""LettaMessage: the wire form of the log's messages (Letta V1 API, API 4.5). Every key is always present, possibly null
(API 1.7).
"""

from typing import Annotated, Literal

from pydantic import Field, field_serializer

from hibernaut.schemas.base import JsonObject, Schema
from hibernaut.schemas.content import InputPart
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics

MessageType = Literal[
    "system_message",
    "user_message",
    "assistant_message",
    "reasoning_message",
    "hidden_reasoning_message",
    "tool_call_message",
    "tool_return_message",
    "approval_request_message",
    "approval_response_message",
    "summary_message",
    "event_message",
]


class _Common(Schema):
    """The fields that all LettaMessages share."""

    id: str
    date: str
    name: str | None = None
    message_type: str
    otid: str | None = None
    sender_id: str | None = None
    step_id: str | None = None
    is_err: bool | None = None
    seq_id: int | None = None
    run_id: str | None = None


class SystemMessage(_Common):
    """A system message."""

    message_type: Literal["system_message"] = "system_message"
    content: str


class UserMessage(_Common):
    """A user's message."""

    message_type: Literal["user_message"] = "user_message"
    content: str | list[InputPart]


class ReasoningMessage(_Common):
    """The model's reasoning, or an agent's private text."""

    message_type: Literal["reasoning_message"] = "reasoning_message"
    source: Literal["reasoner_model", "non_reasoner_model"] = "non_reasoner_model"
    reasoning: str
    signature: str | None = None


class HiddenReasoningMessage(_Common):
    """Reasoning that the provider encrypted or did not disclose."""

    message_type: Literal["hidden_reasoning_message"] = "hidden_reasoning_message"
    state: Literal["redacted", "omitted"]
    hidden_reasoning: str | None = None


class WireToolCall(Schema):
    """A tool call. `arguments` is JSON text."""

    name: str
    arguments: str
    tool_call_id: str


class ToolCallMessage(_Common):
    """A tool call of the agent."""

    message_type: Literal["tool_call_message"] = "tool_call_message"
    tool_call: WireToolCall
    tool_calls: list[WireToolCall] | None = None


class WireToolReturn(Schema):
    """The return of one tool call."""

    type: Literal["tool"] = "tool"
    tool_return: str | list[InputPart]
    status: Literal["success", "error"]
    tool_call_id: str
    stdout: list[str] | None = None
    stderr: list[str] | None = None


class ToolReturnMessage(_Common):
    """The returns of tool calls. The fields of the first return also appear at the top level (deprecated)."""

    message_type: Literal["tool_return_message"] = "tool_return_message"
    tool_return: str
    status: Literal["success", "error"]
    tool_call_id: str
    stdout: list[str] | None = None
    stderr: list[str] | None = None
    tool_returns: list[WireToolReturn] | None = None


class AssistantMessage(_Common):
    """The agent's message to the user."""

    message_type: Literal["assistant_message"] = "assistant_message"
    content: str | list[InputPart]


class ApprovalRequestMessage(_Common):
    """Tool calls that wait for an approval or for the client."""

    message_type: Literal["approval_request_message"] = "approval_request_message"
    tool_call: WireToolCall
    tool_calls: list[WireToolCall] | None = None


class ApprovalReturn(Schema):
    """The approval or denial of one call."""

    type: Literal["approval"] = "approval"
    tool_call_id: str
    approve: bool
    reason: str | None = None


ApprovalItem = Annotated[ApprovalReturn | WireToolReturn, Field(discriminator="type")]


class ApprovalResponseMessage(_Common):
    """The answer to an approval request."""

    message_type: Literal["approval_response_message"] = "approval_response_message"
    approvals: list[ApprovalItem] | None = None
    approve: bool | None = None
    approval_request_id: str | None = None
    reason: str | None = None


class CompactionStats(Schema):
    """The sizes of a window before and after a compaction."""

    trigger: str
    context_tokens_before: int | None = None
    context_tokens_after: int | None = None
    context_window: int
    messages_count_before: int
    messages_count_after: int


class SummaryMessage(_Common):
    """The summary of compacted messages."""

    message_type: Literal["summary_message"] = "summary_message"
    summary: str
    compaction_stats: CompactionStats | None = None


class EventMessage(_Common):
    """An event of the run, such as the start of a compaction."""

    message_type: Literal["event_message"] = "event_message"
    event_type: Literal["compaction"] = "compaction"
    event_data: JsonObject = Field(default_factory=dict)


LettaMessage = Annotated[
    SystemMessage
    | UserMessage
    | ReasoningMessage
    | HiddenReasoningMessage
    | ToolCallMessage
    | ToolReturnMessage
    | AssistantMessage
    | ApprovalRequestMessage
    | ApprovalResponseMessage
    | SummaryMessage
    | EventMessage,
    Field(discriminator="message_type"),
]


class ToolCallDelta(Schema):
    """A piece of a call that the model is writing: the first piece has the name, each piece a part of `arguments`."""

    name: str | None = None
    arguments: str | None = None
    tool_call_id: str | None = None


class ToolCallDeltaMessage(_Common):
    """A piece of a call, in token streams only. Both fields hold the same object; absent values are omitted (API 6.3)."""

    message_type: Literal["tool_call_message"] = "tool_call_message"
    tool_call: ToolCallDelta
    tool_calls: ToolCallDelta

    @field_serializer("tool_call", "tool_calls")
    def _present(self, call: ToolCallDelta) -> JsonObject:
        return call.model_dump(exclude_none=True)


class ApprovalRequestDeltaMessage(_Common):
    """A piece of a call that waits for an answer, in token streams only. Unlike in ToolCallDeltaMessage, absent values are null
    (API 6.3).
    """

    message_type: Literal["approval_request_message"] = "approval_request_message"
    tool_call: ToolCallDelta
    tool_calls: ToolCallDelta


DeltaMessage = ReasoningMessage | AssistantMessage | ToolCallDeltaMessage | ApprovalRequestDeltaMessage


class Ping(_Common):
    """A keep-alive event, in streams only."""

    message_type: Literal["ping"] = "ping"


class LettaStopReason(Schema):
    """The event with the stop reason of a run."""

    message_type: Literal["stop_reason"] = "stop_reason"
    stop_reason: StopReason


class LettaErrorMessage(Schema):
    """The error of a run, in streams only, as `event: error` (API 6.2)."""

    message_type: Literal["error_message"] = "error_message"
    run_id: str
    error_type: str
    message: str
    detail: str | None = None
    seq_id: int | None = None


class LettaResponse(Schema):
    """The reply to a blocking request (API 4.7)."""

    messages: list[LettaMessage]
    stop_reason: LettaStopReason
    usage: LettaUsageStatistics
    logprobs: JsonObject | None = None
    turns: list[JsonObject] | None = None
