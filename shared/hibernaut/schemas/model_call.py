"""One call of a language model, as values: what is asked and what comes back. Knows no provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ReasoningPart
from hibernaut.schemas.llm_config import LLMConfig
from hibernaut.schemas.message import Message
from hibernaut.schemas.usage import Usage

FinishReason = Literal["stop", "tool_calls", "length", "refusal", "other"]


def as_it_is(body: Json) -> Json:
    """The body, of which nothing is a secret."""
    return body


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is offered it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonObject
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """`mode` auto: as it likes; required: some tool; named: the tool `name`; none: no tool."""

    mode: Literal["auto", "required", "named", "none"] = "auto"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything one call needs. `system` is the compiled system message; `messages` follow it (no system message at their head).

    `messages` are rows of the log in order. What a provider cannot take (approval rows, orphans, foreign signatures) the adapter
    merges or leaves out, deterministically: two requests whose rows share a beginning share their serialized beginning, byte for byte
    (invariant 10). `timeout` in seconds for the whole call.
    """

    config: LLMConfig
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    choice: ToolChoice = ToolChoice()
    parallel_tool_calls: bool = False
    timeout: float = 720.0
    user: str | None = None


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """`arguments` is the raw text that the model wrote; it may be broken JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """The bodies of a call, as they were sent and received. `shown` strikes the deployment's secrets out of one."""

    sent: JsonObject
    received: JsonObject
    shown: Callable[[Json], Json] = as_it_is


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back, in order: reasoning, text, calls. `usage` is all zero where the provider reports none; `exchange` are the bodies, where
    the adapter has them."""

    text: str = ""
    reasoning: tuple[ReasoningPart, ...] = ()
    tool_calls: tuple[ModelToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    request_id: str | None = None
    exchange: Exchange | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply as it arrives. For `tool_name` and `tool_arguments`, `index` and `call_id` name the call."""

    kind: Literal["reasoning", "text", "tool_name", "tool_arguments"]
    text: str
    index: int = 0
    call_id: str = ""
