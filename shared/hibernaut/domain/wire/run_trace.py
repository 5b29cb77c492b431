"""The trace of a run: spans made from the records of the run and of its steps.

Nothing is measured for the trace alone, and no span contains a prompt or a reply. A span exists once it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.runs.trace import Span, SpanStatus
from hibernaut.schemas.stop import ENDED

ROOT, STEP, MODEL, TOOLS, FIRST_TOKEN = "root_span", "agent_step", "llm_request", "tool_executions", "time_to_first_token"
_STATUS: dict[str | None, SpanStatus] = {"failed": "Error", "cancelled": "Unset"}


def spans(run: StoredRun, steps: Sequence[StoredStep]) -> list[Span]:
    """The spans in the order of their start."""
    trace, root = trace_id(run.id), _span(run.id)
    found = [*_of_run(run, trace, root)]
    for step in steps:
        found += _of_step(step, trace, root)
    return sorted(found, key=lambda span: span.Timestamp)


def _of_run(run: StoredRun, trace: str, root: str) -> Iterator[Span]:
    if run.status in ENDED:
        yield Span(
            Timestamp=run.created_at,
            TraceId=trace,
            SpanId=root,
            SpanName=ROOT,
            Duration=run.total_duration_ns or 0,
            StatusCode=_STATUS.get(run.status.value, "Ok"),
            StatusMessage=run.error.code if run.error else "",
            SpanAttributes=_attributes(
                run_id=run.id,
                agent_id=run.agent_id,
                conversation_id=run.conversation_id,
                run_type=(run.metadata or {}).get("run_type"),
                stop_reason=run.stop_reason,
            ),
        )
    if run.ttft_ns is not None:
        yield Span(
            Timestamp=run.created_at,
            TraceId=trace,
            SpanId=_span(run.id, 1),
            ParentSpanId=root,
            SpanName=FIRST_TOKEN,
            Duration=run.ttft_ns,
        )


def _of_step(step: StoredStep, trace: str, root: str) -> Iterator[Span]:
    span_id = _span(step.id)
    started_ns = step.step_start_ns
    yield Span(
        Timestamp=_at(started_ns) if started_ns else step.created_at,
        TraceId=trace,
        SpanId=span_id,
        ParentSpanId=root,
        SpanName=STEP,
        Duration=step.step_ns or 0,
        StatusCode=_STATUS.get(step.status, "Ok"),
        StatusMessage=step.error_type or "",
        SpanAttributes=_attributes(step_id=step.id, agent_id=step.agent_id, stop_reason=step.stop_reason),
    )
    request_ns, reply_ns = step.llm_request_start_ns, step.llm_request_ns
    if request_ns is None or reply_ns is None:
        return
    yield Span(
        Timestamp=_at(request_ns),
        TraceId=trace,
        SpanId=_span(step.id, 1),
        ParentSpanId=span_id,
        SpanName=MODEL,
        SpanKind="Client",
        Duration=reply_ns,
        SpanAttributes=_attributes(
            model=step.model,
            provider=step.provider_name,
            prompt_tokens=step.prompt_tokens,
            completion_tokens=step.completion_tokens,
            request_id=step.request_id,
        ),
    )
    if step.tool_execution_ns is not None:  # tools run after the reply is complete
        yield Span(
            Timestamp=_at(request_ns + reply_ns),
            TraceId=trace,
            SpanId=_span(step.id, 2),
            ParentSpanId=span_id,
            SpanName=TOOLS,
            Duration=step.tool_execution_ns,
        )


def trace_id(run_id: str) -> str:
    """The trace id of a run, which the records of its steps hold as well."""
    return _digits(run_id)


def _digits(identifier: str) -> str:
    return identifier[-36:].replace("-", "")


def _span(identifier: str, part: int = 0) -> str:
    """A span id: the end of `identifier`, whose low seven bits are zero, plus the number of the part."""
    return f"{int(_digits(identifier)[16:], 16) + part:016x}"


def _at(nanoseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)


def _attributes(**values: object) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}
