"""The configured providers that embed, and the embedder behind each. Knows which format a provider speaks."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.adapters.embedder.hosted import voyage
from hibernaut.adapters.embedder.hosted.http_embedder import Dial, EmbeddingModel, EmbeddingServer, HttpEmbedder, direct
from hibernaut.adapters.embedder.hosted.openai import OPENAI_ROUTE, ROUTES, bearer, openai_embedder
from hibernaut.adapters.model.dialects import GEMINI
from hibernaut.adapters.model.provider_settings import OWN_KEY_ADVICE, VERTEX, ProviderSettings, configured, key_advice
from hibernaut.domain.models.embedding_models import BEDROCK, VOYAGE
from hibernaut.ports.storage.secrets import Secrets


def embedding_providers(secrets: Secrets) -> Mapping[str, ProviderSettings]:
    """The providers by name. Raises: SecretsUnavailable."""
    found = {
        row.name: row for row in configured(secrets) if row.kind in (VERTEX, BEDROCK) or (row.dialect and row.dialect.embeds)
    }
    key, url = secrets.get(voyage.KEY), secrets.get(voyage.ADDRESS)
    if key or url:
        found[VOYAGE] = ProviderSettings(VOYAGE, VOYAGE, (url or voyage.URL).rstrip("/"), key)
    return found


def embedder_of(provider: ProviderSettings, model: EmbeddingModel, batch: int, dial: Dial = direct) -> HttpEmbedder:
    """The embedder for a model of a provider other than Bedrock. Opens no connection. `dial` makes its HTTP clients."""
    server = EmbeddingServer(provider.url, bearer(provider.key), key_advice(provider), dial)
    if provider.kind == VERTEX:
        from hibernaut.adapters.embedder.hosted.vertex import vertex_embedder

        advice = OWN_KEY_ADVICE if provider.own else None
        return vertex_embedder(model, server, credentials=provider.key, advice=advice, batch=batch)
    if provider.dialect is GEMINI and not provider.url.endswith("/openai"):
        from hibernaut.adapters.embedder.hosted.gemini import gemini_embedder

        return gemini_embedder(model, server, key=provider.key, batch=batch)
    route = ROUTES.get(provider.dialect.name if provider.dialect else provider.kind, OPENAI_ROUTE)
    return openai_embedder(model, server, batch=batch, route=route)
