"""The result of a call in the port's values. Nothing is believed of a content that is no text: what reads it looks at its
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mcp_types as types

from hibernaut.domain.tools.mcp.mcp_results import MOST_IMAGE_BYTES, McpBinary, McpLink, McpPart, McpResult, McpText


def result_of(answer: types.CallToolResult) -> McpResult:
    """The result with its parts."""
    structured = answer.structured_content if isinstance(answer.structured_content, dict) else None
    return McpResult(_parts(answer.content), answer.is_error, structured)


def _parts(content: Sequence[types.ContentBlock]) -> tuple[McpPart, ...]:
    """The parts. Contents that are no text are carried up to the size of what may be shown of a result."""
    parts, budget = list[McpPart](), MOST_IMAGE_BYTES
    for each in content:
        part = _part(each)
        if isinstance(part, McpBinary):
            part = part if part.size <= budget else replace(part, data="")
            budget -= part.size if part.data else 0
        parts.append(part)
    return tuple(parts)


def _part(content: types.ContentBlock) -> McpPart:
    match content:
        case types.TextContent(text=text):
            return McpText(text)
        case types.ImageContent(data=data, mime_type=kind):
            return McpBinary("image", kind, _size(data), data=data)
        case types.AudioContent(data=data, mime_type=kind):
            return McpBinary("sound", kind, _size(data))
        case types.ResourceLink(uri=uri, name=name, description=description):
            return McpLink(str(uri), name, description or "")
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return McpText(text)
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=blob, mime_type=media, uri=uri)):
            return McpBinary("resource", media or "", _size(blob), str(uri), blob)
        case _:
            return McpBinary("content", type(content).__name__, 0)


def _size(encoded: str) -> int:
    """The bytes that base64 stands for."""
    return len(encoded.rstrip("=")) * 3 // 4
