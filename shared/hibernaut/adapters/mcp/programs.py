"""Sessions with MCP servers that are programs: the port `Mcp` for targets of the type stdio.

A whole session runs as one call in the sandbox of custom tools: the program, and our own client of it (`caged_session`). So it
sees, reaches and uses what a custom tool may, and ends with the call. What comes back is checked as a stranger's. The call of a
run that ends meanwhile is cancelled in the sandbox, whose client tells the program; what then goes on is ended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from hibernaut.domain.tools.mcp.mcp_results import McpListing, McpResult
from hibernaut.ports.tools.mcp import McpCall, McpFailure, McpProblem, McpTarget, StdioMcpTarget
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import Json, JsonObject

SOURCE = """
def session(asked):
    from hibernaut.adapters.mcp.caged_session import performed

    return performed(asked, wanted)
"""
START_SECONDS = 5.0
"""Seconds of the time limit that the sandbox and the client in it have for their own start and end."""
LONGEST_REPLY = 6_000_000
"""Characters of what a session returns: a million beside the images of a result, which are in base64."""
MEMORY = 1_073_741_824
_LISTING = TypeAdapter(McpListing)
_RESULT = TypeAdapter(McpResult)
_FAILURE: TypeAdapter[tuple[McpProblem, str]] = TypeAdapter(tuple[McpProblem, str])
Returned = TypeVar("Returned")


class RecallingRunner(Protocol):
    """A sandbox whose jobs can be recalled."""

    def run(self, job: ToolJob, wanted: Callable[[], bool] | None = None) -> ToolOutcome:
        """Run the job once. `wanted` is asked now and then; when it answers False, the global `wanted` of the source does so too,
        and what does not end then is ended. Raises: OSError if the sandbox cannot be started.
        """


class CagedPrograms:
    """The client of programs. `runner`: the sandbox of custom tools. Thread-safe if it is."""

    def __init__(self, runner: RecallingRunner) -> None:
        self._runner = runner

    def tools(self, target: McpTarget, *, seconds: float) -> McpListing:
        """As the port says."""
        return self._performed(target, None, seconds, _LISTING, _CallWish())

    def call(self, target: McpTarget, call: McpCall, *, seconds: float) -> McpResult:
        """As the port says."""
        asked = {"name": call.name, "args": call.args, "fingerprint": call.fingerprint}
        return self._performed(target, asked, seconds, _RESULT, _CallWish(call.wanted))

    def _performed(
        self, target: McpTarget, call: JsonObject | None, seconds: float, form: TypeAdapter[Returned], wish: _CallWish
    ) -> Returned:
        if not isinstance(target, StdioMcpTarget):
            raise McpFailure("off", "it is no program")
        inside = max(1.0, seconds - START_SECONDS)
        args: JsonObject = {
            "command": target.command,
            "args": list(target.args),
            "env": dict(target.env),
            "call": call,
            "seconds": inside,
        }
        job = ToolJob(
            name="session",
            source_code=SOURCE,
            args={"asked": args},
            environment=_environment(),
            timeout=seconds,
            memory=MEMORY,
            output_limit=LONGEST_REPLY,
        )
        try:
            outcome = self._runner.run(job, wish.stands)
        except OSError as error:
            raise McpFailure("unreachable", f"it could not be started ({type(error).__name__})") from error
        if wish.ended:
            raise McpFailure("cancelled", "the call was cancelled")
        if outcome.status == "error" and "TimeoutError" in (outcome.error or ""):
            raise McpFailure("timeout", f"it did not answer within {seconds:g} seconds")
        if outcome.status == "error":
            raise McpFailure("protocol", f"its session ended early: {(outcome.error or '')[:300]}")
        return _read(outcome.value, form)


@dataclass(slots=True)
class _CallWish:
    """Whether a call is wanted, and whether it has ended to be so."""

    wanted: Callable[[], bool] = lambda: True
    ended: bool = False

    def stands(self) -> bool:
        self.ended = self.ended or not self.wanted()
        return not self.ended


def _read(value: Json, form: TypeAdapter[Returned]) -> Returned:
    """What a session returned. Raises: McpFailure, that of the session or for something else than a session returns."""
    try:
        if isinstance(value, dict) and "failure" in value:
            problem, reason = _FAILURE.validate_python(value["failure"])
            raise McpFailure(problem, reason[:1_000])
        return form.validate_python(value)
    except ValidationError as error:
        raise McpFailure("protocol", "its session returned no valid result") from error


def _environment() -> dict[str, str]:
    """The variables of the sandbox: where programs are, and nothing of the server."""
    folders = dict.fromkeys((os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin"))
    return {"PATH": ":".join(folders), "HOME": "/tmp"}  # noqa: S108  the sandbox's own
