"""The language model: one request in, one reply out, in terms of our message schemas. Only the adapter knows its provider's wire
format.

An adapter does not try again after a failure, and never repairs the model's output. It may send a request once more without a
member that the provider has refused by name, or without images, before anything of a reply has arrived. It raises the subclasses
of `schemas.errors.ModelError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from hibernaut.ports.memory.embedder import Embedder
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import NotImplementedHere
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.schemas.models.model_call import Delta, ModelReply, ModelRequest, ModelToolCall, ToolChoice, ToolSpec

__all__ = [
    "NO_PROVIDERS",
    "ConnectedProvider",
    "Delta",
    "Model",
    "ModelReply",
    "ModelRequest",
    "ModelToolCall",
    "Models",
    "OnOpen",
    "ProviderAccess",
    "ProviderConnections",
    "ToolChoice",
    "ToolSpec",
]


OnOpen = Callable[[Callable[[], None]], None]


class Model(Protocol):
    """One provider. Thread-safe."""

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """Call the model once. With `on_delta`, the adapter passes on the reply piece by piece if the provider can stream; the
        return value is always the whole reply.

        Before the request is sent, `on_open` receives a function that aborts the call from another thread; a model inside this
        process never calls `on_open`. An exception from either callback closes the connection and propagates. Raises: ModelError
        and its subclasses.
        """

    def payload(self, request: ModelRequest) -> JsonObject:
        """The request body exactly as `complete` sends it to the provider."""

    def models(self) -> list[ModelDescription]:
        """The models that this provider offers now; an empty list if the provider cannot be reached."""

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """The embedding models that this provider offers now; an empty list if the provider cannot be reached."""


class Models(Protocol):
    """The catalogue of providers, which resolves model handles."""

    def of(self, config: LLMConfig) -> Model:
        """The provider for a configuration. Raises: NotFound if its provider is not configured."""

    def config(self, handle: str) -> LLMConfig:
        """The configuration for a handle `provider/model`, with the default context window of an agent.

        Raises: InvalidArgument if the handle has no slash, NotFound (with the existing handles).
        """

    def list_embeddings(self) -> list[EmbeddingModelDescription]:
        """All embedding models; the default comes first."""

    def list(self) -> list[ModelDescription]:
        """All models of all providers; the default comes first."""

    def embedding(self, handle: str) -> EmbeddingConfig:
        """The configuration of an embedding model. Raises: NotFound, with the existing handles in its message."""

    def default_handle(self) -> str:
        """The handle for agents that are created without one."""

    def default_embedding_handle(self) -> str | None:
        """The embedding handle for archives that are created without one; None if the deployment has no default."""

    def providers(self) -> Mapping[str, str]:
        """The configured providers for the start-up message: provider name -> address, never a key."""


@immutable
class ProviderAccess:
    """The access to a provider with a tenant's own key. `provider_type` is a type of V1; `url` None: the provider's public
    address.

    `region` and `access_key` belong to a cloud provider; with an `access_key`, `key` is its secret.
    """

    name: str
    provider_type: str
    key: str | None = field(default=None, repr=False)
    url: str | None = None
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)


class ConnectedProvider(Protocol):
    """A provider of a tenant's own, with the lists of its models. Thread-safe."""

    @property
    def model(self) -> Model:
        """The adapter, whose errors and payloads are without the key."""

    def config(self, model: str) -> LLMConfig | None:
        """The configuration for a model by its name, with the default context window of an agent; None if the provider does not
        list it. While the list is unavailable, every name is accepted.
        """

    def list(self) -> list[ModelDescription]:
        """The models that the provider lists, with the category `byok`. If the provider does not answer: the last known list."""

    def embeddings(self) -> Sequence[EmbeddingModelDescription]:
        """The provider's embedding models with a known dimension."""

    def embedding(self, model: str) -> EmbeddingModelDescription | None:
        """The embedding model with this name; None if the provider does not list it, or its dimension is unknown. While the list
        is unavailable, every model with a known dimension is accepted.
        """

    def embedder(self, config: EmbeddingConfig) -> Embedder:
        """The embedder for a model of this provider. Opens no connection. Raises: InvalidArgument if the provider has none."""


class ProviderConnections(Protocol):
    """Connects the providers of tenants. Thread-safe."""

    def connect(self, access: ProviderAccess) -> ConnectedProvider:
        """The provider behind this access. Opens no connection.

        Raises: InvalidArgument if the type is not served, or if an address or a key is missing or may not be used.
        """

    def check(self, access: ProviderAccess) -> None:
        """Try the key and the address now. Raises: InvalidArgument as `connect`; ModelError; NotImplementedHere if the provider
        has no route that tells.
        """


class NoProviders:
    """The connections of a deployment without providers of tenants: every call raises NotImplementedHere."""

    def connect(self, access: ProviderAccess) -> ConnectedProvider:
        raise NotImplementedHere(f"This deployment connects no providers of its users, such as {access.name}.")

    def check(self, access: ProviderAccess) -> None:
        self.connect(access)


NO_PROVIDERS = NoProviders()
