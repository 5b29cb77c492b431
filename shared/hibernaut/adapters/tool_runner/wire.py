"""The JSON form of jobs and outcomes between `LambdaRunner` and the `run_tool` function, and the outcome of a failed job. Knows their fields
only.
"""

from __future__ import annotations

from dataclasses import asdict, fields

from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import JsonObject

ERROR_LIMIT = 1_000
"""The largest error of an outcome in characters."""


def job_to_json(job: ToolJob) -> JsonObject:
    return asdict(job) | {"environment": dict(job.environment)}


def job_from_json(data: JsonObject) -> ToolJob:
    """The job in a JSON object. Raises: TypeError or KeyError if it is malformed."""
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
    """The outcome in a JSON object. Raises: KeyError if it is malformed."""
    return ToolOutcome(
        status=data["status"],
        value=data["value"],
        error=data["error"],
        stdout=tuple(data["stdout"]),
        stderr=tuple(data["stderr"]),
        blocks=data["blocks"],
    )


def failed(job: ToolJob, kind: str, message: str) -> ToolOutcome:
    """The outcome of a failed job, as the model reads it (run-time digest 5.1)."""
    return ToolOutcome(status="error", error=f"Error executing function {job.name}: {kind}: {message}"[:ERROR_LIMIT])
