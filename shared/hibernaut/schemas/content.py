"""The parts that a message's content is made of (Letta V1 API, digest 4.5)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Schema


class TextContent(Schema):
    type: Literal["text"] = "text"
    text: str
    signature: str | None = None


class UrlImage(Schema):
    type: Literal["url"] = "url"
    url: str


class Base64Image(Schema):
    """`data` is the image in base64."""

    type: Literal["base64"] = "base64"
    media_type: str
    data: str
    detail: str | None = None


class LettaImage(Schema):
    type: Literal["letta"] = "letta"
    file_id: str
    media_type: str | None = None
    data: str | None = None
    detail: str | None = None


ImageSource = Annotated[UrlImage | Base64Image | LettaImage, Field(discriminator="type")]


class ImageContent(Schema):
    type: Literal["image"] = "image"
    source: ImageSource


class ToolCallContent(Schema):
    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: JsonObject
    signature: str | None = None


class ToolReturnContent(Schema):
    type: Literal["tool_return"] = "tool_return"
    tool_call_id: str
    content: str
    is_error: bool


class ReasoningContent(Schema):
    """`is_native`: the model's own reasoning, replayed to the same model with its signature."""

    type: Literal["reasoning"] = "reasoning"
    is_native: bool = True
    reasoning: str
    signature: str | None = None


class RedactedReasoningContent(Schema):
    type: Literal["redacted_reasoning"] = "redacted_reasoning"
    data: str


class OmittedReasoningContent(Schema):
    type: Literal["omitted_reasoning"] = "omitted_reasoning"
    signature: str | None = None


class SummarizedReasoningPart(Schema):
    index: int
    text: str


class SummarizedReasoningContent(Schema):
    type: Literal["summarized_reasoning"] = "summarized_reasoning"
    id: str
    summary: list[SummarizedReasoningPart]
    encrypted_content: str | None = None


InputPart = Annotated[TextContent | ImageContent, Field(discriminator="type")]
"""What a caller may send."""

Part = Annotated[
    TextContent
    | ImageContent
    | ToolCallContent
    | ToolReturnContent
    | ReasoningContent
    | RedactedReasoningContent
    | OmittedReasoningContent
    | SummarizedReasoningContent,
    Field(discriminator="type"),
]
"""What a stored message may hold."""

ReasoningPart = ReasoningContent | RedactedReasoningContent | OmittedReasoningContent | SummarizedReasoningContent
