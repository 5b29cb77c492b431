"""A step: one model call and its consequences, committed as one transaction (Letta V1 API, API 4.8)."""

from datetime import date
from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.limits import Names
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.turn import FailedCall
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.usage import CompletionTokensDetails, Money, PromptTokensDetails


class Step(Schema):
    """The wire form. `cost` is in USD by the price list of `price_list_date`; null: the price of the call is unknown. `aws_cost`
    is what the run cost on AWS since its step before; null: not on AWS. `failed_calls`: the model calls of the step that failed,
    in order.
    """

    id: str
    origin: str | None = None
    organization_id: str | None = None
    provider_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    provider_name: str | None = None
    provider_category: str | None = None
    model: str | None = None
    model_handle: str | None = None
    model_endpoint: str | None = None
    context_window_limit: int | None = None
    completion_tokens: int | None = None
    prompt_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
    prompt_tokens_details: PromptTokensDetails | None = None
    cost: Money | None = None
    price_list_date: date | None = None
    aws_cost: Money | None = None
    failed_calls: list[FailedCall] = Field(default_factory=list)
    stop_reason: StopReason | None = None
    tags: list[str] = Field(default_factory=list)
    tid: str | None = None
    trace_id: str | None = None
    request_id: str | None = None
    messages: list[Message] = Field(default_factory=list)
    feedback: Literal["positive", "negative"] | None = None
    project_id: str | None = None
    error_type: str | None = None
    error_data: JsonObject | None = None
    status: Literal["pending", "success", "failed", "cancelled"] | None = "success"


class CallTime(Schema):
    """How long a call of a tool took, in nanoseconds."""

    tool_call_id: str
    execution_ns: int


class StoredStep(Stored, Step):
    """The stored record, with the API key of its request, the range of the step's messages and its times (nanoseconds since 1970,
    or durations in nanoseconds).
    """

    created_at: Moment
    conversation_id: str | None = None
    key_id: str | None = None
    first_message: str | None = None
    last_message: str | None = None
    step_start_ns: int | None = None
    llm_request_start_ns: int | None = None
    llm_request_ns: int | None = None
    tool_execution_ns: int | None = None
    call_times: list[CallTime] = Field(default_factory=list)
    step_ns: int | None = None
    version: int = 1

    def wire(self) -> Step:
        """The form that clients see. Fields are shared with the record, not copied."""
        return Step.model_construct(**{name: getattr(self, name) for name in Step.model_fields})


class StepUsage(Schema):
    """What reports of usage read of a stored step: a third of its time to read, of which a report has thousands."""

    id: str
    created_at: Moment
    agent_id: str | None = None
    key_id: str | None = None
    model: str | None = None
    model_handle: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: Money | None = None
    price_list_date: date | None = None
    aws_cost: Money | None = None


class StepMetrics(Schema):
    """The metrics of a step. Times are in nanoseconds; `id` is the step's. `call_times`, an extension: the calls whose times are
    known, in their order.
    """

    id: str
    provider_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    step_start_ns: int | None = None
    llm_request_start_ns: int | None = None
    llm_request_ns: int | None = None
    tool_execution_ns: int | None = None
    call_times: list[CallTime] = Field(default_factory=list)
    step_ns: int | None = None
    base_template_id: str | None = None
    template_id: str | None = None
    project_id: str | None = None


class ModifyFeedback(Schema):
    """The body of PATCH /v1/steps/{id}/feedback; null removes the feedback, an absent key changes nothing."""

    feedback: Literal["positive", "negative"] | None = None
    tags: Names | None = None
