"""The result of a call in the port's values. A content that is no text becomes its type and size."""

from __future__ import annotations

from collections.abc import Sequence

import mcp_types as types

from hibernaut.domain.tools.mcp.mcp_results import McpBinary, McpLink, McpPart, McpResult, McpText


def result_of(answer: types.CallToolResult) -> McpResult:
    """The result with its parts."""
    structured = answer.structured_content if isinstance(answer.structured_content, dict) else None
    return McpResult(_parts(answer.content), answer.is_error, structured)


def _parts(content: Sequence[types.ContentBlock]) -> tuple[McpPart, ...]:
    return tuple(_part(each) for each in content)


def _part(content: types.ContentBlock) -> McpPart:
    match content:
        case types.TextContent(text=text):
            return McpText(text)
        case types.ImageContent(data=data, mime_type=kind):
            return McpBinary("image", kind, _size(data))
        case types.AudioContent(data=data, mime_type=kind):
            return McpBinary("sound", kind, _size(data))
        case types.ResourceLink(uri=uri, name=name, description=description):
            return McpLink(str(uri), name, description or "")
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return McpText(text)
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=blob, mime_type=media, uri=uri)):
            return McpBinary("resource", media or "", _size(blob), str(uri))
        case _:
            return McpBinary("content", type(content).__name__, 0)


def _size(encoded: str) -> int:
    """The bytes that base64 stands for."""
    return len(encoded.rstrip("=")) * 3 // 4
