"""What an MCP server lists and returns, and what a model reads of it. Pure."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from typing import assert_never

from hibernaut.domain.tools.images import image_facts
from hibernaut.domain.tools.tool_returns import storable
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import Base64Image, ImageContent
from hibernaut.schemas.immutable import immutable

EMPTY = "The tool returned nothing."
MOST_IMAGES = 8
"""Images of a result that are shown to a model."""
MOST_IMAGE_BYTES = 3_750_000
"""Bytes of the images of a result; what Bedrock takes of one (docs.aws.amazon.com/bedrock: Converse, ImageBlock)."""
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml"})


@immutable
class ListedMcpTool:
    """A tool as its server lists it. `schema`: of its arguments, of any quality."""

    name: str
    description: str
    schema: Json


@immutable
class McpListing:
    """The tools of a server. `more`: there are others that were not read, because of the limits."""

    tools: tuple[ListedMcpTool, ...]
    more: bool = False


@immutable
class McpText:
    """A text, or the text of a resource."""

    text: str


@immutable
class McpBinary:
    """An image, a sound or another content that is no text, of `size` bytes. `data`: the content in base64, where it may be an
    image or a text.
    """

    kind: str
    media_type: str
    size: int
    uri: str = ""
    data: str = ""


@immutable
class McpLink:
    """The address of a resource that the result does not contain."""

    uri: str
    name: str
    description: str = ""


McpPart = McpText | McpBinary | McpLink


@immutable
class McpResult:
    """The result of a call. `failed`: the tool reports an error. `structured`: the result as an object, if the server gives
    one.
    """

    parts: tuple[McpPart, ...]
    failed: bool = False
    structured: JsonObject | None = None


@immutable
class ShownMcpResult:
    """What a model gets of a result: a text with a line for everything that is none, and the images."""

    text: str
    images: tuple[ImageContent, ...] = ()


def shown(result: McpResult) -> ShownMcpResult:
    """The result as a model gets it; without parts, the structured result. The type of an image follows from its bytes, not from
    the server's declaration.
    """
    lines, images = list[str](), _Images()
    for part in result.parts:
        lines.append(images.line(part) if isinstance(part, McpBinary) else _line(part))
    text = "\n".join(line for line in lines if line)
    if not text and result.structured:
        text = json.dumps(result.structured, ensure_ascii=False, default=str)
    return ShownMcpResult(storable(text) or EMPTY, tuple(images.found))


class _Images:
    """The images of one result, within the limits of their number and size."""

    def __init__(self) -> None:
        self.found: list[ImageContent] = []
        self._left = MOST_IMAGE_BYTES

    def line(self, part: McpBinary) -> str:
        """The placeholder of a part in the text. If the part is an image, it is added to `found`."""
        data = _decoded(part.data)
        facts = image_facts(data) if data else None
        uri_text = f" {part.uri}" if part.uri else ""
        if facts is None:
            return (
                _written(part, data)
                or f"[{part.kind}{uri_text} of the type {part.media_type or 'unknown'}, {part.size} bytes, which cannot be shown]"
            )
        description = f"image{uri_text} of the type {facts.media_type}, {facts.width} by {facts.height} pixels, {len(data)} bytes"
        if len(self.found) == MOST_IMAGES or len(data) > self._left:
            return f"[{description}, which is left out: {MOST_IMAGES} images with {MOST_IMAGE_BYTES} bytes are shown]"
        self._left -= len(data)
        source = Base64Image(media_type=facts.media_type, data=b64encode(data).decode())
        self.found.append(ImageContent(source=source))
        return f"[image {len(self.found)}: {description}]"


def _decoded(data: str) -> bytes:
    """The bytes; none where the text is no base64."""
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _written(part: McpBinary, data: bytes) -> str:
    """The text of a resource whose server sends it as bytes; empty if it is none."""
    kind = part.media_type.partition(";")[0].strip().lower()
    if part.kind != "resource" or not (kind.startswith("text/") or kind in _TEXTS):
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _line(part: McpText | McpLink) -> str:
    match part:
        case McpText(text=text):
            return text
        case McpLink(uri=uri, name=name, description=description):
            return f"[{name or 'resource'}]({uri})" + (f": {description}" if description else "")
        case _ as never:
            assert_never(never)
