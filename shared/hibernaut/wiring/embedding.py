"""The embedding models on AWS. The catalogue is imported and created at its first use: most steps embed nothing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hibernaut.ports.embedder import Embedder
from hibernaut.ports.secrets import Secrets
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription
from hibernaut.wiring.settings import AwsSettings

if TYPE_CHECKING:
    from hibernaut.adapters.embedder.catalogue import EmbedderCatalogue


class LazyEmbedders:
    """An `EmbedderCatalogue` that is created at its first call. Each method has the contract of `Embedders` or `EmbeddingOffer`."""

    def __init__(self, settings: AwsSettings, secrets: Secrets) -> None:
        self._settings = settings
        self._secrets = secrets

    @cached_property
    def _catalogue(self) -> EmbedderCatalogue:
        from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue

        embedding = DefaultEmbedding(self._settings.default_embedding, self._settings.embedding_dimension)
        return EmbedderCatalogue(self._secrets, default=embedding, only_configured=True, bedrock=True)

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        return self._catalogue.of(config)

    def default(self) -> EmbeddingConfig | None:
        return self._catalogue.default()

    def descriptions(self) -> list[EmbeddingModelDescription]:
        return self._catalogue.descriptions()

    def default_handle(self) -> str | None:
        return self._catalogue.default_handle()
