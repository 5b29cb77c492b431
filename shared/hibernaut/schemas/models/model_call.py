"""One call of a language model as values: request, reply and deltas. Knows no provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ReasoningPart
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.messages.native import NativeReply
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.usage import Usage

CacheLife = Literal["5m", "1h"]
"""How long a provider keeps the prefix of a request that no further request uses, where it lets the caller choose."""
FinishReason = Literal["stop", "tool_calls", "length", "refusal", "other"]


def unredacted(body: Json) -> Json:
    """The body, of which nothing is a secret."""
    return body


@immutable
class ToolSpec:
    """The definition of a tool for the model; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonObject
    strict: bool = False


@immutable
class ToolChoice:
    """The tool choice. `mode` auto: the model decides; required: some tool; named: the tool `name`; none: no tool."""

    mode: Literal["auto", "required", "named", "none"] = "auto"
    name: str | None = None


@immutable
class ModelRequest:
    """The request of one call. `system` is the compiled system message; `messages` follow it (without a system message at their
    head).

    `messages` are rows of the log in order. The adapter merges or omits what its provider rejects (approval rows, orphans,
    foreign signatures), deterministically: two requests whose rows share a prefix also share the serialized prefix, byte for byte
    (invariant 10). `timeout` is in seconds for the whole call.

    `tools` are the same for the whole window, in one order; `allowed` names those that may be called now (None: all). `cache_key`
    is the same for all requests whose prefix may be shared.

    `reply_schema` is the schema of the answer that the only tool takes as its arguments. Where a model cannot be forced to call
    the tool, the adapter sends the schema as its provider's structured output instead, if it has one, and the text of the reply
    is the answer.
    """

    config: LLMConfig
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    choice: ToolChoice = ToolChoice()
    parallel_tool_calls: bool = False
    timeout: float = 720.0
    user: str | None = None
    allowed: Sequence[str] | None = None
    cache_key: str | None = None
    reply_schema: JsonObject | None = None

    @property
    def callable_tools(self) -> Sequence[ToolSpec]:
        """The tools that may be called now, for providers whose requests cannot restrict the list of tools."""
        return self.tools if self.allowed is None else [tool for tool in self.tools if tool.name in self.allowed]


@immutable
class ModelToolCall:
    """A tool call of a reply. `arguments` is the raw text of the model, possibly invalid JSON."""

    id: str
    name: str
    arguments: str


@immutable
class Exchange:
    """The bodies of a call, as they were sent and received. `redact` removes the deployment's secrets from a body."""

    sent: JsonObject
    received: JsonObject
    redact: Callable[[Json], Json] = unredacted


@immutable
class ModelReply:
    """The reply: reasoning, text and calls, in order. `usage` is all zero if the provider reports none; `exchange` holds the
    bodies if the adapter provides them. `native` is the reply as the provider wants it back; None: our form is enough. `logprobs`
    has the form of Letta's API: `content` and `refusal`, each a list of tokens or None.
    """

    text: str = ""
    reasoning: tuple[ReasoningPart, ...] = ()
    tool_calls: tuple[ModelToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    request_id: str | None = None
    native: NativeReply | None = None
    logprobs: JsonObject | None = None
    exchange: Exchange | None = field(default=None, compare=False, repr=False)


@immutable
class Delta:
    """A piece of a reply in a stream. For `tool_name` and `tool_arguments`, `index` and `call_id` identify the call."""

    kind: Literal["reasoning", "text", "tool_name", "tool_arguments"]
    text: str
    index: int = 0
    call_id: str = ""
