"""Traces: the spans of a run, in the format of OpenTelemetry's ClickHouse exporter (Letta V1 API, API 2.15), and the bodies
that a step sent to its provider and received (API 4.8).
"""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema

SpanStatus = Literal["Unset", "Ok", "Error"]


class Span(Schema):
    """A span. `Duration` is in nanoseconds. `TraceId` has 32 hexadecimal digits, a span's id 16; the root's `ParentSpanId` is
    empty.
    """

    Timestamp: Moment
    TraceId: str
    SpanId: str
    ParentSpanId: str = ""
    SpanName: str
    SpanKind: Literal["Internal", "Client"] = "Internal"
    ServiceName: str = "hibernaut"
    Duration: int
    StatusCode: SpanStatus = "Ok"
    StatusMessage: str = ""
    SpanAttributes: dict[str, str] = Field(default_factory=dict)


class ProviderTrace(Schema):
    """One model call as its provider saw it: the bodies of the request and of the answer, without headers and configured secrets.

    An answer that came in pieces is put together.
    """

    id: str
    request_json: JsonObject
    response_json: JsonObject
    step_id: str
    agent_id: str
    agent_tags: list[str] = Field(default_factory=list)
    call_type: Literal["agent_step"] = "agent_step"
    run_id: str
    source: str | None = None
    org_id: str | None = None
    user_id: str | None = None
    compaction_settings: JsonObject | None = None
    llm_config: JsonObject | None = None
    billing_context: JsonObject | None = None
    latency_ms: int | None = None
    created_at: Moment
