"""Spans say what is known of a run, and no more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hibernaut.domain.wire.run_trace import FIRST_TOKEN, MODEL, ROOT, STEP, TOOLS, spans
from hibernaut.schemas.ids import compose
from hibernaut.schemas.runs.run import RunError, RunOptions, StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.stop import RunStatus, StopReason

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
START_NS = int(BEGAN.timestamp()) * 1_000_000_000
OPTIONS = RunOptions(max_steps=1)
RUN, STEP_ID = compose("run", 1, 1, 1), compose("step", 1, 2, 2)


def run(**fields: object) -> StoredRun:
    return StoredRun.model_validate({"id": RUN, "agent_id": "agent-1", "created_at": BEGAN, "options": OPTIONS} | fields)


def step(**fields: object) -> StoredStep:
    return StoredStep.model_validate({"id": STEP_ID, "run_id": RUN, "created_at": BEGAN} | fields)


def test_a_run_that_goes_on_has_no_root_yet_but_its_steps() -> None:
    done = step(step_start_ns=START_NS + 5000, step_ns=9, llm_request_start_ns=START_NS + 6000, llm_request_ns=3)
    found = spans(run(status=RunStatus.RUNNING), [done])
    assert [span.SpanName for span in found] == [STEP, MODEL]
    assert [span.Timestamp - BEGAN for span in found] == [timedelta(microseconds=5), timedelta(microseconds=6)]
    assert found[0].ParentSpanId == spans(run(status=RunStatus.COMPLETED), [])[0].SpanId


def test_tools_begin_where_the_reply_is_there() -> None:
    timed = step(
        step_start_ns=START_NS,
        step_ns=9000,
        llm_request_start_ns=START_NS + 1000,
        llm_request_ns=3000,
        tool_execution_ns=2000,
    )
    tools = spans(run(status=RunStatus.RUNNING), [timed])[-1]
    assert (tools.SpanName, tools.Timestamp - BEGAN, tools.Duration) == (TOOLS, timedelta(microseconds=4), 2000)
    assert tools.ParentSpanId.endswith("100")
    assert tools.SpanId.endswith("102")


def test_a_failed_run_tells_its_code_and_a_cancelled_one_neither_success_nor_error() -> None:
    error = RunError(code="llm_timeout", message="The secret prompt was too long.")
    failed = spans(
        run(status=RunStatus.FAILED, stop_reason=StopReason.LLM_API_ERROR, total_duration_ns=7, error=error),
        [step(status="failed", error_type="llm_timeout", error_data={"message": "The secret prompt was too long."})],
    )
    assert [(span.SpanName, span.StatusCode, span.StatusMessage) for span in failed] == [
        (ROOT, "Error", "llm_timeout"),
        (STEP, "Error", "llm_timeout"),
    ]
    assert "secret" not in str(failed)
    assert failed[0].Duration == 7
    cancelled = spans(run(status=RunStatus.CANCELLED), [step(status="cancelled")])
    assert [span.StatusCode for span in cancelled] == ["Unset", "Unset"]


def test_the_time_to_the_first_token_is_told_where_it_is_known() -> None:
    found = spans(run(status=RunStatus.COMPLETED, ttft_ns=5), [])
    assert [(span.SpanName, span.Duration) for span in found] == [(ROOT, 0), (FIRST_TOKEN, 5)]
    assert found[1].ParentSpanId == found[0].SpanId
