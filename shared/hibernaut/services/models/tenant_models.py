"""The models of one tenant: those of the deployment, and those of the tenant's own providers (port `Models`; RT 11.1).

A configuration of the category `byok` belongs to the tenant's provider of that name. The deployment's providers are looked up
first for any other one, so that they cost no read of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from hibernaut.domain.models.embedding_models import config_of
from hibernaut.ports.model import Model, Models
from hibernaut.schemas.errors import ModelNotFound, NotFound
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.services.models.own_provider_list import OwnProviderList

# Inside the class, `list` is the port's method.
_Models: TypeAlias = list[ModelDescription]
_Embeddings: TypeAlias = list[EmbeddingModelDescription]
MOST_NAMED = 50
"""Handles in an error's text."""


class TenantModels:
    """`base`: the models of the deployment."""

    def __init__(self, base: Models, own: OwnProviderList) -> None:
        self._base = base
        self._own = own

    def of(self, config: LLMConfig) -> Model:
        """As the port. Raises: ModelNotFound for a provider of the tenant's own that does not exist any more."""
        name = config.provider_name or (config.handle or "").partition("/")[0]
        own = config.provider_category == "byok"
        if name and (own or name not in self._base.providers()):
            provider = self._own.get(name)
            if provider is not None:
                return provider.model
            if own:
                raise ModelNotFound(
                    f"{name}: this provider does not exist any more; add it again (POST /v1/providers/), or choose a model of another one"
                )
        return self._base.of(config)

    def config(self, handle: str) -> LLMConfig:
        """As the port."""
        name, _, model = handle.partition("/")
        provider = self._own.get(name) if name and model and name not in self._base.providers() else None
        if provider is None:
            return self._base.config(handle)
        config = provider.config(model)
        if config is None:
            handles = [f"'{row.handle}'" for row in provider.list()]
            more = f" and {len(handles) - MOST_NAMED} more: GET /v1/models/" if len(handles) > MOST_NAMED else ""
            raise NotFound(f"NOT_FOUND: Handle {handle} not found, must be one of [{', '.join(handles[:MOST_NAMED])}{more}]")
        return config

    def list(self) -> _Models:
        """As the port; the tenant's own come last."""
        return [*self._base.list(), *self._own.models()]

    def list_embeddings(self) -> _Embeddings:
        """As the port; the tenant's own come last."""
        return [*self._base.list_embeddings(), *self._own.embeddings()]

    def embedding(self, handle: str) -> EmbeddingConfig:
        """As the port."""
        name, _, model = handle.partition("/")
        base = name in self._base.providers() or handle == self._base.default_embedding_handle()
        provider = self._own.get(name) if name and model and not base else None
        if provider is None:
            return self._base.embedding(handle)
        row = provider.embedding(model)
        if row is None:
            raise NotFound(
                f"NOT_FOUND: Embedding handle {handle} not found, must be one of {[each.handle for each in provider.embeddings()]}; "
                "a model whose dimension is not known needs an embedding_config with its embedding_dim"
            )
        return config_of(row)

    def default_handle(self) -> str:
        """As the port."""
        return self._base.default_handle()

    def default_embedding_handle(self) -> str | None:
        """As the port."""
        return self._base.default_embedding_handle()

    def providers(self) -> Mapping[str, str]:
        """The deployment's."""
        return self._base.providers()
