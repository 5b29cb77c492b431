"""The configured providers that embed, and the embedder behind each. Knows which format a provider speaks."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.adapters.embedder import voyage
from hibernaut.adapters.embedder.http_embedder import EmbeddingModel, HttpEmbedder
from hibernaut.adapters.embedder.openai import OPENAI_ROUTE, ROUTES, openai_embedder
from hibernaut.adapters.model.dialects import AZURE, GEMINI
from hibernaut.adapters.model.provider_settings import VERTEX, ProviderSettings, configured
from hibernaut.domain.models.embedding_models import BEDROCK, VOYAGE, known
from hibernaut.ports.secrets import Secrets


def embedding_providers(secrets: Secrets) -> Mapping[str, ProviderSettings]:
    """The providers by name. Raises: SecretsUnavailable."""
    found = {
        row.name: row for row in configured(secrets) if row.kind in (VERTEX, BEDROCK) or (row.dialect and row.dialect.embeds)
    }
    key, url = secrets.get(voyage.KEY), secrets.get(voyage.ADDRESS)
    if key or url:
        found[VOYAGE] = ProviderSettings(VOYAGE, VOYAGE, (url or voyage.URL).rstrip("/"), key)
    return found


def embedder_of(provider: ProviderSettings, model: str, dimension: int, batch: int) -> HttpEmbedder:
    """The embedder for a model of a provider. Opens no connection."""
    # A deployment of Azure has any name that its owner chose.
    space = f"{AZURE.name}/{model}" if provider.name == AZURE.name and known(model) is None else None
    asked = EmbeddingModel(model, dimension, space)
    if provider.kind == VERTEX:
        from hibernaut.adapters.embedder.vertex import vertex_embedder

        return vertex_embedder(asked, credentials=provider.key, url=provider.url, batch=batch)
    if provider.dialect is GEMINI and not provider.url.endswith("/openai"):
        from hibernaut.adapters.embedder.gemini import gemini_embedder

        return gemini_embedder(asked, key=provider.key, url=provider.url, batch=batch)
    route = ROUTES.get(provider.dialect.name if provider.dialect else provider.kind, OPENAI_ROUTE)
    return openai_embedder(asked, key=provider.key, url=provider.url, batch=batch, route=route)
