"""Running the code of a custom tool outside the server's process: JSON in, JSON out. A tool's failure is a result, never an
exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, Protocol

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable


@immutable
class ToolJob:
    """One tool call. `args` are the model's arguments (an object); the runner coerces them by `json_schema` (RT 10.2, 10.4).

    `environment` is the complete environment of the child: the agent's own variables and LETTA_AGENT_ID, LETTA_TOOL_ID.
    `agent_state` is a JSON snapshot for functions with a parameter of that name. `timeout` is in seconds, `memory` in bytes,
    `output_limit` in characters. `source_type` is the tool's; every value except "typescript" means Python (API 2.9).
    `client`: the `base_url` of this server and the `token` of this call (None: the tool has no client). `args_json_schema`: the
    schema by which the runner converts arguments to Pydantic objects. `tenant`: the tenant of the call; ids of agents are unique
    within a tenant only. `packages`: the Python packages of the tool (`schemas.tools.package_set.PackageSet` as JSON); None: it
    has none of its own.
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
    client: Mapping[str, str] | None = None
    args_json_schema: JsonObject | None = None
    tenant: str = ""
    packages: JsonObject | None = None


@immutable
class ToolOutcome:
    """The result of one tool call. `value` is the function's return value as JSON on success, else None; `error` is the text for
    the model on failure.

    `blocks` maps labels to the values of the agent's blocks that the function changed in its `agent_state`.
    """

    status: Literal["success", "error"]
    value: Json = None
    error: str | None = None
    stdout: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    blocks: Mapping[str, str] = field(default_factory=dict)


class PackagesMissing(Exception):
    """The packages of a tool are not there, and cannot be fetched. The message is the end of a sentence about the tool."""


class ToolRunner(Protocol):
    """The sandbox. Thread-safe."""

    def refusal(self, source_type: str | None) -> str | None:
        """Why tools of this source type cannot be run here, and what to do about it; None if they can."""

    def run(self, job: ToolJob) -> ToolOutcome:
        """Run the tool once, until it ends or reaches a limit. The tool's own errors never propagate. Raises: OSError if the
        sandbox cannot be started.
        """
