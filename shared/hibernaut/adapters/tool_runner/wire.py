"""The JSON form of jobs and outcomes between `LambdaRunner` and the `run_tool` function, and what an outcome may contain. Knows
their fields only.

An outcome comes from a process that has run the code of a stranger: of a function as of a child. It is checked here, for both.
"""

from __future__ import annotations

from dataclasses import asdict, fields, replace

from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import Json, JsonObject

ERROR_LIMIT = 1_000
"""The largest error of an outcome in characters."""
STREAM_LIMIT = 200_000
"""The largest captured part of stdout, and of stderr, in characters."""
_UNLIMITED = 100_000
"""Characters of a changed block that states no limit."""
_MOST_TEXTS = 3
_NOTE = 200
"""Characters of the notes that are put after a text that was cut."""


def job_to_json(job: ToolJob) -> JsonObject:
    """The job as a JSON object. It contains the values of the job's environment."""
    return asdict(replace(job, client=None)) | {
        "environment": dict(job.environment),
        "client": dict(job.client) if job.client else None,
    }


def job_from_json(data: JsonObject) -> ToolJob:
    """The job in a JSON object. Raises: TypeError or KeyError if it is malformed."""
    return ToolJob(**{field.name: data[field.name] for field in fields(ToolJob) if field.name in data})


def outcome_to_json(outcome: ToolOutcome) -> JsonObject:
    """The outcome as a JSON object."""
    return {
        "status": outcome.status,
        "value": outcome.value,
        "error": outcome.error,
        "stdout": list(outcome.stdout),
        "stderr": list(outcome.stderr),
        "blocks": dict(outcome.blocks),
    }


def outcome_from_json(data: Json, job: ToolJob) -> ToolOutcome:
    """The outcome in a JSON value, which may be anything: what is no outcome is a failure of the tool."""
    match data:
        case {
            "status": "success" | "error" as status,
            "value": value,
            "error": error,
            "stdout": list(stdout),
            "stderr": list(stderr),
            "blocks": dict(blocks),
        } if isinstance(error, str | None):
            found = ToolOutcome(status, value, error, _texts(stdout, job), _texts(stderr, job), _blocks(blocks, job))
            return bounded(found, job)
        case _:
            return failed(job, "RuntimeError", "what came back from its function is no outcome of a tool")


def bounded(outcome: ToolOutcome, job: ToolJob) -> ToolOutcome:
    """The outcome with its texts within the job's limits: a success has no error, and a failure has a text and changes
    nothing.
    """
    if outcome.status == "error":
        error = (outcome.error or "it failed without a message")[:ERROR_LIMIT]
        return replace(outcome, value=None, error=error, blocks={})
    value = outcome.value
    longest = job.output_limit + _NOTE
    return replace(outcome, value=value[:longest] if isinstance(value, str) else value, error=None)


def labels_of(job: ToolJob) -> dict[str, int]:
    """The labels of the tool's blocks, with the maximum length of a changed text. The length is above the block's limit, so that
    memory itself refuses too long texts.
    """
    state = job.agent_state or {}
    memory = state.get("memory")
    blocks = (memory.get("blocks") if isinstance(memory, dict) else None) or state.get("blocks") or []
    return {
        str(block["label"]): 2 * max(int(block.get("limit") or _UNLIMITED), len(str(block.get("value") or ""))) + ERROR_LIMIT
        for block in blocks
        if isinstance(block, dict) and "label" in block
    }


def failed(job: ToolJob, kind: str, message: str) -> ToolOutcome:
    """The outcome of a failed job, as the model reads it (RT 5.1)."""
    return ToolOutcome(status="error", error=f"Error executing function {job.name}: {kind}: {message}"[:ERROR_LIMIT])


def _texts(found: list[Json], job: ToolJob) -> tuple[str, ...]:
    longest = max(job.output_limit, STREAM_LIMIT) + _NOTE
    return tuple(text[:longest] for text in found[:_MOST_TEXTS] if isinstance(text, str))


def _blocks(found: JsonObject, job: ToolJob) -> dict[str, str]:
    lengths = labels_of(job)
    return {label: text for label, text in found.items() if isinstance(text, str) and len(text) <= lengths.get(label, -1)}
