"""Reads a tool's source in its own language: TypeScript where the source's type says so, else Python (Letta V1 API, digest
2.9).
"""

from __future__ import annotations

from hibernaut.domain.tools.sources import tool_schema, typescript_schema, typescript_source
from hibernaut.schemas.base import JsonObject

TYPESCRIPT = "typescript"


def function_name(source: str, source_type: str | None) -> str:
    """The name of the function by which the source is called. Raises: InvalidToolSource."""
    return typescript_source.function_name(source) if source_type == TYPESCRIPT else tool_schema.function_name(source)


def derive_schema(source: str, source_type: str | None, name: str | None = None) -> JsonObject:
    """`{name, description, parameters}` of the function called `name`, or of the one by which the source is called.

    Raises: InvalidToolSource with the place; InvalidArgument for a name that is too long.
    """
    if source_type == TYPESCRIPT:
        return typescript_schema.derive_schema(source, name)
    return tool_schema.derive_schema(source, name)


def schema_from_args(source: str, source_type: str | None, args_json_schema: JsonObject) -> JsonObject:
    """The schema of the function by which the source is called, with the caller's description of its parameters.

    Raises: InvalidToolSource; InvalidArgument for an args schema that does not describe an object.
    """
    if source_type == TYPESCRIPT:
        return tool_schema.schema_with(*typescript_schema.described(source), args_json_schema)
    return tool_schema.schema_from_args(source, args_json_schema)


def check(source: str, source_type: str | None, name: str) -> None:
    """Raises: InvalidToolSource if the source cannot be read, or is in TypeScript and defines no function of this name."""
    if source_type == TYPESCRIPT:
        typescript_source.read(source).function(name)
    elif source_type != "json":
        tool_schema.function_name(source)
