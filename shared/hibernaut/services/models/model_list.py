"""The list of models (Letta V1 API, API 2.13): those of the deployment, and those of the tenant's own providers."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports import model as ports
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription


class ModelList:
    """The models and embedding models that a tenant may use."""

    def __init__(self, models: ports.Models) -> None:
        self._models = models

    def all(
        self,
        *,
        categories: Sequence[str] = (),
        provider_name: str | None = None,
        provider_type: str | None = None,
    ) -> list[ModelDescription]:
        """The language models that match all filters, the default first."""
        return [
            one
            for one in self._models.list()
            if (not categories or one.provider_category in categories)
            and (provider_name is None or one.provider_name == provider_name)
            and (provider_type is None or one.provider_type == provider_type)
        ]

    def all_embeddings(self) -> list[EmbeddingModelDescription]:
        """The embedding models, the default first."""
        return self._models.list_embeddings()
