"""The parts of a message's content (Letta V1 API, API 4.5)."""

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Schema


class TextContent(Schema):
    """A text part."""

    type: Literal["text"] = "text"
    text: str
    signature: str | None = None


class UrlImage(Schema):
    """An image by its URL."""

    type: Literal["url"] = "url"
    url: str


class Base64Image(Schema):
    """An image as base64 text in `data`."""

    type: Literal["base64"] = "base64"
    media_type: str
    data: str
    detail: str | None = None


class LettaImage(Schema):
    """An image that Letta has stored under a file id; only imported messages contain it."""

    type: Literal["letta"] = "letta"
    file_id: str
    media_type: str | None = None
    data: str | None = None
    detail: str | None = None


ImageSource = Annotated[UrlImage | Base64Image | LettaImage, Field(discriminator="type")]


class ImageContent(Schema):
    """An image part."""

    type: Literal["image"] = "image"
    source: ImageSource


class ToolCallContent(Schema):
    """A tool call as a content part."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: JsonObject
    signature: str | None = None


class ToolReturnContent(Schema):
    """A tool return as a content part."""

    type: Literal["tool_return"] = "tool_return"
    tool_call_id: str
    content: str
    is_error: bool


class ReasoningContent(Schema):
    """Reasoning text. `is_native`: the model's own reasoning, which is sent back to the same model with its signature."""

    type: Literal["reasoning"] = "reasoning"
    is_native: bool = True
    reasoning: str
    signature: str | None = None


class RedactedReasoningContent(Schema):
    """Reasoning that the provider encrypted."""

    type: Literal["redacted_reasoning"] = "redacted_reasoning"
    data: str


class OmittedReasoningContent(Schema):
    """Reasoning that the provider did not disclose."""

    type: Literal["omitted_reasoning"] = "omitted_reasoning"
    signature: str | None = None


class SummarizedReasoningPart(Schema):
    """One part of a summarized reasoning."""

    index: int
    text: str


class SummarizedReasoningContent(Schema):
    """The provider's summary of the model's reasoning, in parts."""

    type: Literal["summarized_reasoning"] = "summarized_reasoning"
    id: str
    summary: list[SummarizedReasoningPart]
    encrypted_content: str | None = None


InputPart = Annotated[TextContent | ImageContent, Field(discriminator="type")]
"""The content parts that a caller may send."""

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
"""The content parts of a stored message."""

ReasoningPart = ReasoningContent | RedactedReasoningContent | OmittedReasoningContent | SummarizedReasoningContent
