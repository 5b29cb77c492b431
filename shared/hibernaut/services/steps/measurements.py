"""The figures that a committed step and an ended run leave in the log: counts, milliseconds and codes, never a text of a message.

Must not know the readers of the log. On AWS, `functions/metrics.py` names the metrics that are derived from these fields.
"""

from __future__ import annotations

from datetime import datetime

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.stop import RunStatus

NS_PER_MS = 1_000_000


def step_figures(run: StoredRun, step: StoredStep) -> JsonObject:
    """The fields of the event "step committed"; `run` is the run after the step.

    Times are in milliseconds. `overhead_ms` is the time of the step without its model call and its tools. The first step of a run
    also has `queue_ms`, from the acceptance of the request to the start of the step, and `first_token_ms` if it streamed tokens.
    """
    model, tools, whole = step.llm_request_ns or 0, step.tool_execution_ns or 0, step.step_ns or 0
    figures: JsonObject = {
        "run_id": run.id,
        "agent_id": run.agent_id,
        "step_id": step.id,
        "step_status": step.status,
        "code": step.error_type,
        "step_ms": whole // NS_PER_MS,
        "overhead_ms": max(0, whole - model - tools) // NS_PER_MS,
        "prompt_tokens": step.prompt_tokens,
        "completion_tokens": step.completion_tokens,
        "cached_tokens": step.cached_input_tokens or 0,
    }
    if step.llm_request_ns:
        figures["model_ms"] = model // NS_PER_MS
    if run.steps == 1:
        figures["queue_ms"] = max(0, (step.step_start_ns or 0) // NS_PER_MS - _milliseconds(run.created_at))
        if run.ttft_ns is not None:
            figures["first_token_ms"] = run.ttft_ns // NS_PER_MS
    return {name: value for name, value in figures.items() if value is not None}


def end_figures(run: StoredRun) -> JsonObject:
    """The fields of the event "run ended". `failed` is 1 for a failed run, else 0; `code` is the code of its error."""
    figures: JsonObject = {
        "run_id": run.id,
        "agent_id": run.agent_id,
        "stop_reason": run.stop_reason.value if run.stop_reason else None,
        "failed": int(run.status is RunStatus.FAILED),
        "code": run.error.code if run.error else None,
        "steps": run.steps,
        "run_ms": (run.total_duration_ns or 0) // NS_PER_MS,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
