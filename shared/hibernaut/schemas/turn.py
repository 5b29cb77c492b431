"""What a step leaves in the table while it is under way: the journaled reply and the claims of outside calls."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Json, JsonObject, Moment, Schema
from hibernaut.schemas.content import Part
from hibernaut.schemas.events import DeltaType
from hibernaut.schemas.llm_config import LLMConfig
from hibernaut.schemas.model_call import FinishReason
from hibernaut.schemas.usage import Usage


class JournaledCall(Schema):
    """A call as the model wrote it; `arguments` is the raw text."""

    id: str
    name: str
    arguments: str


class Stamp(Schema):
    """The ids and the time that a step's rows bear: given once, before the model is asked, and kept by every replay of its reply.

    `streamed`: the reply was shown piece by piece to those who follow tokens, under these ids; `shown` are the types of its messages
    that were. `fallback` is the model that answered in place of the one that was asked.
    """

    step_id: str
    assistant_id: str
    approval_id: str = ""
    tool_id: str
    heartbeat_id: str
    at: Moment
    streamed: bool = False
    shown: list[DeltaType] = Field(default_factory=list)
    fallback: LLMConfig | None = None


class Journal(Schema):
    """A reply that asks for tools, written before they run. `mark` is the run's `journal` attribute while it holds.

    Times in nanoseconds since 1970, or spans in nanoseconds.
    """

    mark: str
    stamp: Stamp
    text: str = ""
    reasoning: list[Part] = Field(default_factory=list)
    calls: list[JournaledCall]
    finish_reason: FinishReason = "tool_calls"
    usage: Usage = Field(default_factory=Usage)
    model: str = ""
    request_id: str | None = None
    step_start_ns: int = 0
    llm_start_ns: int = 0
    llm_ns: int = 0


class ClaimedResult(Schema):
    """What an outside call gave."""

    status: Literal["success", "error"]
    value: Json = None
    error: str | None = None
    stdout: list[str] = Field(default_factory=list)
    stderr: list[str] = Field(default_factory=list)
    blocks: JsonObject = Field(default_factory=dict)


class Claim(Schema):
    """An outside call that somebody has begun. `deadline` is when he can no longer be at it; `holder` is his process."""

    call_id: str
    name: str
    holder: str
    deadline: Moment
    result: ClaimedResult | None = None
