"""What an MCP server lists and returns, and what a model reads of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from hibernaut.domain.tools.tool_returns import storable
from hibernaut.schemas.base import Json, JsonObject

EMPTY = "The tool returned nothing."


@dataclass(frozen=True, slots=True)
class ListedMcpTool:
    """A tool as its server lists it. `schema`: of its arguments, of any quality."""

    name: str
    description: str
    schema: Json


@dataclass(frozen=True, slots=True)
class McpListing:
    """The tools of a server. `more`: there are others that were not read, because of the limits."""

    tools: tuple[ListedMcpTool, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class McpText:
    """A text, or the text of a resource."""

    text: str


@dataclass(frozen=True, slots=True)
class McpBinary:
    """An image, a sound or another content that is no text, of `size` bytes."""

    kind: str
    media_type: str
    size: int
    uri: str = ""


@dataclass(frozen=True, slots=True)
class McpLink:
    """The address of a resource that the result does not contain."""

    uri: str
    name: str
    description: str = ""


McpPart = McpText | McpBinary | McpLink


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a call. `failed`: the tool reports an error. `structured`: the result as an object, if the server gives one."""

    parts: tuple[McpPart, ...]
    failed: bool = False
    structured: JsonObject | None = None


def text_of(result: McpResult) -> str:
    """What a model reads of a result: texts as they are, a line for everything else; without parts, the structured result."""
    shown = _joined(result.parts)
    if not shown and result.structured:
        shown = json.dumps(result.structured, ensure_ascii=False, default=str)
    return storable(shown) or EMPTY


def _joined(parts: Sequence[McpPart]) -> str:
    return "\n".join(line for part in parts if (line := _line(part)))


def _line(part: McpPart) -> str:
    match part:
        case McpText(text=text):
            return text
        case McpBinary(kind=kind, media_type=media_type, size=size, uri=uri):
            named = f" {uri}" if uri else ""
            return f"[{kind}{named} of the type {media_type or 'unknown'}, {size} bytes, which cannot be shown as text]"
        case McpLink(uri=uri, name=name, description=description):
            return f"[{name or 'resource'}]({uri})" + (f": {description}" if description else "")
        case _ as never:
            assert_never(never)
