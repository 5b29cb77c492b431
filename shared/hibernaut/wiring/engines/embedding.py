"""The embedding models on AWS, and those of tenants' own providers. Their modules are imported at the first use, because most
steps embed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from hibernaut.adapters.model.provider_settings import ProviderSettings
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.ports.memory.embedder import Embedder
from hibernaut.ports.storage.secrets import Secrets
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription
from hibernaut.wiring.settings import AwsSettings

if TYPE_CHECKING:
    from httpx2 import Client

    from hibernaut.adapters.embedder.catalogue import EmbedderCatalogue


def own_embedder(settings: ProviderSettings, config: EmbeddingConfig, dial: Dial[Client], now: Callable[[], float]) -> Embedder:
    """The embedder for a model of a tenant's own provider, as `adapters.embedder.own_embedder` makes it."""
    from hibernaut.adapters.embedder import own_embedder as module

    return module.own_embedder(settings, config, dial, now)


class LazyEmbedders:
    """An `EmbedderCatalogue` that is created at its first call. Each method has the contract of `Embedders` or
    `EmbeddingOffer`.
    """

    def __init__(self, settings: AwsSettings, secrets: Secrets) -> None:
        self._settings = settings
        self._secrets = secrets

    @cached_property
    def _catalogue(self) -> EmbedderCatalogue:
        from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue

        embedding = DefaultEmbedding(self._settings.default_embedding, self._settings.embedding_dimension)
        return EmbedderCatalogue(self._secrets, default=embedding, bedrock=True)

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        return self._catalogue.of(config)

    def default(self) -> EmbeddingConfig | None:
        return self._catalogue.default()

    def descriptions(self) -> list[EmbeddingModelDescription]:
        return self._catalogue.descriptions()

    def default_handle(self) -> str | None:
        return self._catalogue.default_handle()
