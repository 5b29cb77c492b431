"""A tool: a function that an agent may call (Letta V1 API, API 4.9; RT 10.1)."""

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from hibernaut.schemas.base import JsonObject, Moment, Schema, StrictSchema
from hibernaut.schemas.json_schema import FunctionSchema, ParametersSchema
from hibernaut.schemas.limits import Metadata, Name, Names, Note, Small
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.tools.package_set import PackageSet

DEFAULT_RETURN_LIMIT = 50_000
"""The longest return that the model sees, in characters."""
MAX_NAME = 48
NAME = re.compile(r"[a-zA-Z0-9_-]+")
"""The names that all providers take: Google takes dots and colons as well, OpenAI does not
(openai/types/shared/function_definition.py).
"""
LARGEST_SOURCE = 256 * 1024
"""The longest source in characters: parsing takes some hundred times its size in memory."""
ToolSource = Annotated[str, StringConstraints(max_length=LARGEST_SOURCE)]


class ToolType(StrEnum):
    """The kinds of tools."""

    CUSTOM = "custom"
    LETTA_CORE = "letta_core"
    LETTA_MEMORY_CORE = "letta_memory_core"
    LETTA_MULTI_AGENT_CORE = "letta_multi_agent_core"
    LETTA_SLEEPTIME_CORE = "letta_sleeptime_core"
    LETTA_VOICE_SLEEPTIME_CORE = "letta_voice_sleeptime_core"
    LETTA_BUILTIN = "letta_builtin"
    LETTA_FILES_CORE = "letta_files_core"
    EXTERNAL_LANGCHAIN = "external_langchain"
    EXTERNAL_COMPOSIO = "external_composio"
    EXTERNAL_MCP = "external_mcp"


class PipRequirement(Schema):
    """A Python package that a tool requires."""

    name: str = Field(min_length=1)
    version: str | None = None


class NpmRequirement(Schema):
    """An npm package that a tool requires."""

    name: str = Field(min_length=1)
    version: str | None = None


class Tool(Schema):
    """A tool as stored and on the wire. Built-in tools are not stored; `domain.tools.builtin.builtin_tools` makes them from the
    code. `packages`: what was installed for `pip_requirements`.
    """

    id: str
    tool_type: ToolType = ToolType.CUSTOM
    name: str | None = None
    description: str | None = None
    source_type: str | None = None
    source_code: str | None = None
    json_schema: JsonObject | None = None
    args_json_schema: JsonObject | None = None
    tags: list[str] = Field(default_factory=list)
    return_char_limit: int = Field(default=DEFAULT_RETURN_LIMIT, ge=1, le=1_000_000)
    pip_requirements: list[PipRequirement] | None = None
    npm_requirements: list[NpmRequirement] | None = None
    default_requires_approval: bool | None = None
    enable_parallel_execution: bool | None = False
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    metadata_: JsonObject | None = Field(default_factory=dict)
    project_id: str | None = None
    created_at: Moment | None = Field(default=None, exclude=True)
    packages: PackageSet | None = Field(default=None, exclude=True)


class StoredTool(Stored, Tool):
    """The stored record: the wire fields, internal fields, and `version`, which counts changes."""

    created_at: Moment | None = None
    packages: PackageSet | None = None
    version: int = 1


class ToolCreate(StrictSchema):
    """The body of POST and PUT /v1/tools/; unknown keys are rejected (API 1.7)."""

    source_code: ToolSource
    source_type: Literal["python", "typescript", "json"] | None = None
    description: Note | None = None
    tags: Names | None = None
    json_schema: FunctionSchema | None = None
    args_json_schema: ParametersSchema | None = None
    return_char_limit: int = Field(default=DEFAULT_RETURN_LIMIT, ge=1, le=1_000_000)
    pip_requirements: Small[list[PipRequirement]] | None = None
    npm_requirements: Small[list[NpmRequirement]] | None = None
    default_requires_approval: bool | None = None
    enable_parallel_execution: bool | None = None
    metadata_: Metadata | None = None


class ToolUpdate(Schema):
    """The body of PATCH /v1/tools/{id}; unknown keys are ignored, null fields change nothing."""

    source_code: ToolSource | None = None
    source_type: Name | None = None
    description: Note | None = None
    tags: Names | None = None
    json_schema: FunctionSchema | None = None
    args_json_schema: ParametersSchema | None = None
    return_char_limit: int | None = Field(default=None, ge=1, le=1_000_000)
    pip_requirements: Small[list[PipRequirement]] | None = None
    npm_requirements: Small[list[NpmRequirement]] | None = None
    default_requires_approval: bool | None = None
    enable_parallel_execution: bool | None = None
    metadata_: Metadata | None = None
    project_id: Name | None = None


class ToolRunFromSource(StrictSchema):
    """The body of POST /v1/tools/run (API 3): the tool runs once and is not stored."""

    source_code: ToolSource
    args: JsonObject
    env_vars: dict[str, str] | None = None
    name: str | None = None
    source_type: str | None = None
    args_json_schema: ParametersSchema | None = None
    json_schema: FunctionSchema | None = None
    pip_requirements: list[PipRequirement] | None = None
    npm_requirements: list[NpmRequirement] | None = None
    metadata_: Metadata | None = None


class ToolRunRequest(StrictSchema):
    """The body of POST /v1/agents/{id}/tools/{name}/run."""

    args: JsonObject = Field(default_factory=dict)


class ToolSearchResult(Schema):
    """A tool that a search found (API 2.9). `embedded_text`: the text that was searched; `fts_rank` counts from 1."""

    tool: Tool
    embedded_text: str | None = None
    fts_rank: int | None = None
    vector_rank: int | None = None
    combined_score: float = 0.0


class ToolExecutionResult(Schema):
    """The result of running a tool by the API (API 2.6)."""

    status: Literal["success", "error"]
    func_return: object = None
    agent_state: None = None
    stdout: list[str] | None = None
    stderr: list[str] | None = None
    sandbox_config_fingerprint: str | None = None
