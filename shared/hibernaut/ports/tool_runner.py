"""Running a custom tool's code outside of our process: JSON in, JSON out. A tool's failure is a result, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hibernaut.schemas.base import Json, JsonObject


@dataclass(frozen=True, slots=True)
class ToolJob:
    """One call. `args` are as the model gave them (an object); the runner coerces them by `json_schema` (run-time digest 10.2, 10.4).

    `environment` is all the child gets of an environment: the agent's own variables and LETTA_AGENT_ID, LETTA_TOOL_ID.
    `agent_state` is a JSON snapshot for functions that ask for it. `timeout` in seconds; `memory` in bytes; `output_limit` in characters.
    `source_type` is the tool's; everything but "typescript" is Python (digest 2.9).
    """

    name: str
    source_code: str
    args: JsonObject
    json_schema: JsonObject | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    agent_id: str | None = None
    agent_state: JsonObject | None = None
    timeout: float = 180.0
    memory: int = 1_073_741_824
    output_limit: int = 1_000_000
    source_type: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What the call gave. `value` is the function's return as JSON (success) or None; `error` is what the model is told (error).

    `blocks` are the values of the agent's blocks that the function changed in its `agent_state`, by label.
    """

    status: Literal["success", "error"]
    value: Json = None
    error: str | None = None
    stdout: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    blocks: Mapping[str, str] = field(default_factory=dict)


class ToolRunner(Protocol):
    """The cage. Thread-safe."""

    def run(self, job: ToolJob) -> ToolOutcome:
        """Run it once, to the end or to a limit. Raises nothing of the tool's; OSError where the cage itself cannot be made."""
