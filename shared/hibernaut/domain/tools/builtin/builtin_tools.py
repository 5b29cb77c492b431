"""The built-in tools as records. They are made from the code and not stored, so that every deployment has the same tools with the
same ids.
"""

from __future__ import annotations

import functools
import hashlib
from datetime import UTC, datetime

from hibernaut.domain.tools.builtin.builtin_file_schemas import FILE_DEFINITIONS
from hibernaut.domain.tools.builtin.builtin_online_schemas import ONLINE_DEFINITIONS
from hibernaut.domain.tools.builtin.builtin_schemas import DEFINITIONS, Definition
from hibernaut.schemas.ids import compose
from hibernaut.schemas.tools.tool import Tool

CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""Earlier than every stored record, so that built-in tools sort first."""


@functools.cache
def builtin_tools() -> dict[str, Tool]:
    """All built-in tools by name. The objects are shared: copy one before changing it."""
    return {definition.name: _tool(definition) for definition in (*DEFINITIONS, *FILE_DEFINITIONS, *ONLINE_DEFINITIONS)}


@functools.cache
def _by_id() -> dict[str, Tool]:
    return {tool.id: tool for tool in builtin_tools().values()}


def builtin_by_id(tool_id: str) -> Tool | None:
    """The built-in tool with this id, or None."""
    return _by_id().get(tool_id)


def builtin_id(name: str) -> str:
    """The permanent id of a built-in tool: a fixed time, and a hash of the name in all other bits."""
    hashed = hashlib.sha256(f"tool:{name}".encode()).digest()
    counter, node_bits = int.from_bytes(hashed[:2]) >> 4, int.from_bytes(hashed[2:10]) >> 9
    return compose("tool", int(CREATED_AT.timestamp() * 1000), counter, node_bits)


def _tool(definition: Definition) -> Tool:
    return Tool(
        id=builtin_id(definition.name),
        tool_type=definition.tool_type,
        name=definition.name,
        description=definition.description,
        source_type="python",
        json_schema=definition.schema(),
        tags=[definition.tool_type.value],
        enable_parallel_execution=definition.parallel,
        created_at=CREATED_AT,
    )
