"""Runs one custom tool. The event is the job and the reply is its outcome, both in the format of
`hibernaut.adapters.tool_runner.wire`.

The tool runs in a child process without this function's environment, so that it does not inherit the credentials of the role. The
child's time limit is shorter than the function's, so that the caller learns the reason of a timeout.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Protocol

from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.fetched_packages import FetchedPackages
from hibernaut.adapters.tool_runner.wire import failed, job_from_json, outcome_to_json
from hibernaut.ports.tools.tool_runner import ToolJob, ToolRunner

MEGABYTE = 1024 * 1024
OWN_MEMORY = 160 * MEGABYTE
"""The memory in bytes that the function itself needs."""
OWN_SECONDS = 2.0
"""Seconds that are reserved for the reply."""
LARGEST_REPLY = 6_000_000
"""The largest reply in bytes: a little below Lambda's limit."""


class Context(Protocol):
    """The part of Lambda's context that is used. The memory is a string or a number, depending on the runtime version."""

    memory_limit_in_mb: int | str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""


def handler(event: dict[str, Any], context: Context, runner: ToolRunner | None = None) -> dict[str, Any]:
    """Run the tool of the job. A failed tool, or a reply over the limit, is an outcome and no exception."""
    job = within(job_from_json(event), context)
    reply = outcome_to_json((runner or ChildProcessRunner(packages=FetchedPackages().place)).run(job))
    if len(json.dumps(reply, ensure_ascii=False).encode()) <= LARGEST_REPLY:
        return reply
    return outcome_to_json(failed(job, "ValueError", "what it returned and printed is too large for a function's reply"))


def within(job: ToolJob, context: Context) -> ToolJob:
    """The job with its limits reduced to the remaining time and memory of the function."""
    seconds = context.get_remaining_time_in_millis() / 1000 - OWN_SECONDS
    memory = int(context.memory_limit_in_mb) * MEGABYTE - OWN_MEMORY
    return replace(job, timeout=min(job.timeout, max(seconds, 0.0)), memory=min(job.memory, memory))
