"""The language model: one request in, one reply out. Spoken in our messages; each adapter knows its provider's wire format.

An adapter never tries again by itself and never repairs what the model said; it raises the tree `schemas.errors.ModelError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import ReasoningPart
from hibernaut.schemas.llm_config import EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.schemas.message import Message
from hibernaut.schemas.usage import Usage

FinishReason = Literal["stop", "tool_calls", "length", "refusal", "other"]


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
class ModelReply:
    """What came back, in order: reasoning, text, calls. `usage` is all zero where the provider reports none."""

    text: str = ""
    reasoning: tuple[ReasoningPart, ...] = ()
    tool_calls: tuple[ModelToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply as it arrives. For `tool_name` and `tool_arguments`, `index` and `call_id` name the call."""

    kind: Literal["reasoning", "text", "tool_name", "tool_arguments"]
    text: str
    index: int = 0
    call_id: str = ""


class Model(Protocol):
    """One provider. Thread-safe."""

    def complete(self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None) -> ModelReply:
        """Ask once. With `on_delta` the reply is streamed through it as it arrives; the return is the whole either way.

        Raises: ModelError and its kin. An exception from `on_delta` closes the connection and is passed on.
        """

    def payload(self, request: ModelRequest) -> JsonObject:
        """The provider's request body exactly as `complete` would send it."""

    def models(self) -> list[ModelDescription]:
        """The models this provider offers now; an empty list where it cannot be reached."""

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """The same for embeddings."""


class Models(Protocol):
    """Which providers there are: the catalogue that resolves handles."""

    def of(self, config: LLMConfig) -> Model:
        """The provider behind a configuration. Raises: NotFound where its provider is not configured."""

    def config(self, handle: str) -> LLMConfig:
        """The configuration of a handle `provider/model`. Raises: InvalidArgument (no slash), NotFound (with the handles that exist)."""

    def list(self) -> list[ModelDescription]:
        """All models of all providers, the default first."""

    def list_embeddings(self) -> list[EmbeddingModelDescription]:
        """All embedding models, the default first."""

    def default_handle(self) -> str:
        """The handle of an agent that is created without one."""

    def default_embedding_handle(self) -> str | None:
        """The same for embeddings; None: there is none."""

    def providers(self) -> Mapping[str, str]:
        """What is configured, for the start-up message: provider name -> where it answers (an address, never a key)."""
