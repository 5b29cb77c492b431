"""The embedder behind a provider of a tenant's own. It is imported at the first use of such a provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hibernaut.adapters.certificates import certificates
from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.adapters.embedder.hosted.http_embedder import EmbeddingModel
from hibernaut.adapters.embedder.providers import embedder_of
from hibernaut.adapters.embedder.wrapped_embedder import WrappedEmbedder
from hibernaut.adapters.model.provider_settings import ProviderSettings
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.domain.models.embedding_models import BEDROCK, BEDROCK_MODELS
from hibernaut.ports.memory.embedder import Embedder, EmbedderFailed, Vector
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.models.llm_config import EmbeddingConfig

if TYPE_CHECKING:
    from httpx2 import Client

REST_SECONDS = 30.0
"""Seconds without requests after a provider did not answer: the server of one tenant must not delay other tenants."""


def own_embedder(
    settings: ProviderSettings, config: EmbeddingConfig, dial: Dial[Client], now: Callable[[], float]
) -> CachedEmbedder:
    """The embedder for a model of this provider, which has an embedding route, with recent vectors. Opens no connection. Raises:
    InvalidArgument if this server does not support the Bedrock model.
    """
    model, dimension = config.embedding_model, config.embedding_dim
    if settings.kind == BEDROCK:
        return CachedEmbedder(RestingEmbedder(_of_bedrock(settings, model, dimension, dial), now))

    def dialled() -> Client:
        return dial(lambda _: None, certificates())

    embedder = embedder_of(settings, EmbeddingModel(model, dimension), config.batch_size, dialled)
    return CachedEmbedder(RestingEmbedder(embedder, now))


def _of_bedrock(settings: ProviderSettings, model: str, dimension: int, dial: Dial[Client]) -> Embedder:
    from hibernaut.adapters.embedder.hosted.bedrock import BedrockEmbedder
    from hibernaut.adapters.embedder.hosted.bedrock_signed import SignedInvoke

    if model not in BEDROCK_MODELS:
        raise InvalidArgument(
            f"{settings.name}: {model} is no embedding model that is served here; choose {', '.join(BEDROCK_MODELS)}"
        )
    return BedrockEmbedder(model=model, dimension=dimension, invoke=SignedInvoke(settings, dial))


class RestingEmbedder(WrappedEmbedder):
    """An embedder that fails at once for `REST_SECONDS` after its server did not answer. `now` is in seconds. Thread-safe."""

    def __init__(self, inner: Embedder, now: Callable[[], float]) -> None:
        super().__init__(inner)
        self._now = now
        self._lock = threading.Lock()
        self._failure: tuple[float, str] | None = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """As the port says."""
        with self._lock:
            failure = self._failure
        if failure is not None and self._now() < failure[0]:
            raise EmbedderFailed(failure[1], retryable=True)
        try:
            vectors = self._inner.embed(texts, query=query)
        except EmbedderFailed as error:
            if error.retryable:
                with self._lock:
                    self._failure = (self._now() + REST_SECONDS, str(error))
            raise
        with self._lock:
            self._failure = None
        return vectors
