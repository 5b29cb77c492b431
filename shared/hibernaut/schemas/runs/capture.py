"""Turns that another system produced, to be stored in the log of an agent (Letta V1 API, API 3)."""

from typing import Annotated

from pydantic import Field

from hibernaut.schemas.base import Schema
from hibernaut.schemas.content import InputPart
from hibernaut.schemas.limits import Name, Text

MOST_SEEN = 10_000
"""The largest number of messages of one request, of any role."""


class CapturedMessage(Schema):
    """A message that was sent to a model. Only messages with the role `user` are stored, as in V1."""

    role: Name
    content: Text | list[InputPart] | None = None


class CapturedReply(Schema):
    """The model's reply."""

    content: Annotated[Text, Field(min_length=1)]


class CaptureMessages(Schema):
    """The body of POST /v1/agents/{id}/messages/capture."""

    provider: Name
    model: Name
    request_messages: Annotated[list[CapturedMessage], Field(max_length=MOST_SEEN)]
    response_dict: CapturedReply


class Captured(Schema):
    """The reply. `run_ids` is empty: no run belongs to what was captured."""

    success: bool = True
    messages_created: int
    run_ids: list[str] = Field(default_factory=list)
