"""The language model: one request in, one reply out. Spoken in our messages; each adapter knows its provider's wire format.

An adapter never tries again by itself and never repairs what the model said; it raises the tree `schemas.errors.ModelError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.llm_config import EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.schemas.model_call import Delta, ModelReply, ModelRequest, ModelToolCall, ToolChoice, ToolSpec

__all__ = ["Delta", "Model", "ModelReply", "ModelRequest", "ModelToolCall", "Models", "OnOpen", "ToolChoice", "ToolSpec"]


OnOpen = Callable[[Callable[[], None]], None]


class Model(Protocol):
    """One provider. Thread-safe."""

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """Ask once. With `on_delta` the reply is streamed through it as it arrives, if the provider can; the return is the whole either way.

        `on_open` is given, before anything is sent, what breaks the call off from another thread, whatever it waits for; a model that is
        in this process has nothing to give. Raises: ModelError and its kin. An exception from either closes the connection and is passed on.
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
        """The configuration of a handle `provider/model`, with the window that an agent has unless it asks for more. Raises: InvalidArgument (no slash), NotFound (with the handles that exist)."""

    def list_embeddings(self) -> list[EmbeddingModelDescription]:
        """All embedding models, the default first."""

    def list(self) -> list[ModelDescription]:
        """All models of all providers, the default first."""

    def default_handle(self) -> str:
        """The handle of an agent that is created without one."""

    def default_embedding_handle(self) -> str | None:
        """The same for embeddings; None: there is none."""

    def providers(self) -> Mapping[str, str]:
        """What is configured, for the start-up message: provider name -> where it answers (an address, never a key)."""
