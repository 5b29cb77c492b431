"""A span of a run's trace, in the words of OpenTelemetry as its exporter to ClickHouse writes them (Letta V1 API, digest 2.15)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Moment, Schema

StatusCode = Literal["Unset", "Ok", "Error"]


class Span(Schema):
    """`Duration` in nanoseconds. `TraceId` has 32 hexadecimal digits, the ids of spans 16; the root's `ParentSpanId` is empty."""

    Timestamp: Moment
    TraceId: str
    SpanId: str
    ParentSpanId: str = ""
    SpanName: str
    SpanKind: Literal["Internal", "Client"] = "Internal"
    ServiceName: str = "hibernaut"
    Duration: int
    StatusCode: StatusCode = "Ok"
    StatusMessage: str = ""
    SpanAttributes: dict[str, str] = Field(default_factory=dict)
