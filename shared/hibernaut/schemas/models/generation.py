"""One plain question to an agent's model, without its memory and tools (Letta V1 API, API 3)."""

from typing import Annotated

from pydantic import AfterValidator

from hibernaut.schemas.base import Schema
from hibernaut.schemas.json_schema import ParametersSchema
from hibernaut.schemas.limits import Name, Text
from hibernaut.schemas.usage import LettaUsageStatistics


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("prompt cannot be empty or whitespace-only")
    return text


class GenerateRequest(Schema):
    """`response_schema`: the JSON schema of an object that the answer is to be."""

    prompt: Annotated[Text, AfterValidator(_not_blank)]
    system_prompt: Text | None = None
    override_model: Name | None = None
    response_schema: ParametersSchema | None = None


class GenerateResponse(Schema):
    """`content` is the text, or the JSON that the schema wants."""

    content: str
    model: str
    usage: LettaUsageStatistics
