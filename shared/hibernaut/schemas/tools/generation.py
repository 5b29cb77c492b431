"""The bodies of the route that lets a model write a tool (Letta V1 API, API 3)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from hibernaut.schemas.base import JsonObject, Schema
from hibernaut.schemas.limits import Name, Small
from hibernaut.schemas.tools.tool import MAX_NAME, Tool, ToolSource

FunctionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=MAX_NAME)]
Wish = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class GenerateTool(Schema):
    """What a tool is to do. `starter_code`: a source to begin with; `validation_errors`: what was wrong with it. `handle`: the
    model that writes, if not the server's default.
    """

    tool_name: FunctionName
    prompt: Wish
    handle: Name | None = None
    starter_code: ToolSource | None = None
    validation_errors: Small[list[Wish]] = Field(default_factory=list)


class GeneratedTool(Schema):
    """A tool that a model has written. It is not stored: its id names nothing yet."""

    tool: Tool
    sample_args: JsonObject
    response: str
