"""Jobs and outcomes as JSON, between `LambdaRunner` and the `run_tool` function. Knows their fields and nothing else."""

from __future__ import annotations

from dataclasses import asdict, fields

from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import JsonObject


def job_to_json(job: ToolJob) -> JsonObject:
    return asdict(job) | {"environment": dict(job.environment)}


def job_from_json(data: JsonObject) -> ToolJob:
    """Raises: TypeError or KeyError for what is no job."""
    return ToolJob(**{field.name: data[field.name] for field in fields(ToolJob) if field.name in data})


def outcome_to_json(outcome: ToolOutcome) -> JsonObject:
    return {
        "status": outcome.status,
        "value": outcome.value,
        "error": outcome.error,
        "stdout": list(outcome.stdout),
        "stderr": list(outcome.stderr),
        "blocks": dict(outcome.blocks),
    }


def outcome_from_json(data: JsonObject) -> ToolOutcome:
    """Raises: KeyError for what is no outcome."""
    return ToolOutcome(
        status=data["status"],
        value=data["value"],
        error=data["error"],
        stdout=tuple(data["stdout"]),
        stderr=tuple(data["stderr"]),
        blocks=data["blocks"],
    )
