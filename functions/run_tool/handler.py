"""Runs one tool: the event is the job, the reply its outcome, both as `hibernaut.adapters.tool_runner.wire` writes them.

The tool runs in a child process without this function's environment, so that no credentials of its role reach it, and ends
before the function does, so that the caller learns why.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Protocol

from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner, failed
from hibernaut.adapters.tool_runner.wire import job_from_json, outcome_to_json
from hibernaut.ports.tool_runner import ToolJob, ToolRunner

MEGABYTE = 1024 * 1024
OWN_MEMORY = 160 * MEGABYTE
"""What the function itself takes of its memory."""
OWN_SECONDS = 2.0
"""Seconds that are kept for the reply."""
LARGEST_REPLY = 6_000_000
"""Bytes; a little less than what Lambda takes."""


class Context(Protocol):
    """What is used of Lambda's context. AWS sends the memory as text or number, by runtime version."""

    memory_limit_in_mb: int | str

    def get_remaining_time_in_millis(self) -> int: ...


def handler(event: dict[str, Any], context: Context, runner: ToolRunner | None = None) -> dict[str, Any]:
    job = within(job_from_json(event), context)
    reply = outcome_to_json((runner or ChildProcessRunner()).run(job))
    if len(json.dumps(reply, ensure_ascii=False).encode()) <= LARGEST_REPLY:
        return reply
    return outcome_to_json(failed(job, "ValueError", "what it returned and printed is too large for a function's reply"))


def within(job: ToolJob, context: Context) -> ToolJob:
    """The job with no more time and memory than the function has left."""
    seconds = context.get_remaining_time_in_millis() / 1000 - OWN_SECONDS
    memory = int(context.memory_limit_in_mb) * MEGABYTE - OWN_MEMORY
    return replace(job, timeout=min(job.timeout, max(seconds, 0.0)), memory=min(job.memory, memory))
