"""A model's reply in its provider's own form, stored beside our form so that it can be sent back unchanged.

Providers return parts that are valid only at their place in the history: signed thinking, encrypted reasoning, thought
signatures, `reasoning_content`. Our form of a reply cannot represent these, so an assistant row stores both. Our form is
authoritative for all other uses.
"""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Schema

Wire = Literal["chat", "responses", "messages", "gemini", "converse"]
"""A provider's wire format: OpenAI's Chat Completions and Responses, Anthropic's Messages, Gemini's generateContent, Bedrock's
Converse.
"""


class NativeReply(Schema):
    """The items of one reply, verbatim and in order, as its wire format sends them back.

    They are valid only for the same wire format, provider and model; any other model gets our form. `calls` are the ids of all
    tool calls among the items.
    """

    wire: Wire
    provider: str
    model: str
    items: list[JsonObject]
    calls: list[str] = Field(default_factory=list)
