"""Embedding: texts become vectors. Each archive stores which model embeds it and never changes the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription

Vector = tuple[float, ...]


class EmbedderFailed(Exception):
    """The texts could not be embedded. `retryable`: the same call may succeed later. `of_texts`: one of these texts is the cause,
    so the others may succeed without it. The message never quotes the texts.
    """

    def __init__(self, detail: str, *, retryable: bool, of_texts: bool = False) -> None:
        self.retryable, self.of_texts = retryable, of_texts
        super().__init__(detail)


class Embedder(Protocol):
    """One embedding model. Thread-safe and hashable. Every vector has unit norm (length 1 within 1e-3), so that a dot product is
    a cosine.
    """

    @property
    def space(self) -> str:
        """The name of the model's vector space: lower-case letters, digits and hyphens. The same model at the same dimension
        always has the same name.
        """

    @property
    def dimension(self) -> int:
        """The number of components of each vector."""

    @property
    def max_tokens(self) -> int:
        """The longest text that the model reads, in its own tokens without special tokens. The caller cuts longer texts."""

    @property
    def batch(self) -> int:
        """The number of texts that one call of the model embeds, which take little longer than one where it is a service."""

    def count(self, text: str) -> int:
        """The length of a text in the model's own tokens, exact or estimated. Raises: EmbedderFailed if the model cannot be
        loaded.
        """

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """One vector of unit norm for each text, in the order of the texts. Any number of texts is accepted; of a text beyond
        `max_tokens` only the beginning counts. `query`: the texts are search queries, not documents; some models embed these
        differently, and their vectors are cached for a while. Raises: EmbedderFailed.
        """

    def known(self, texts: Sequence[str]) -> list[Vector | None]:
        """For each text its vector as a document if it is cached, else None. Does not call the model and does not raise."""

    def likeness(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """An estimate for each text of how near it is to the query in meaning: higher is nearer, comparable within one call. It
        takes a hundredth of the time of `embed`, and tells which texts are worth it. None: the model has no such estimate.
        Raises: EmbedderFailed if the model cannot be loaded.
        """


class Embedders(Protocol):
    """The catalogue of embedding models of this deployment."""

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        """The model for a configuration; None if `config` is None or if no configured provider serves it.

        Raises: SecretsUnavailable.
        """

    def default(self) -> EmbeddingConfig | None:
        """The configuration for new archives and for the message log; None means that search uses words only.

        Raises: SecretsUnavailable if it depends on the configured providers.
        """


class EmbeddingOffer(Protocol):
    """The embedding models that a deployment offers without asking a provider for its list."""

    def descriptions(self) -> list[EmbeddingModelDescription]:
        """The models, the default first. Raises: SecretsUnavailable."""

    def default_handle(self) -> str | None:
        """The handle of the default model; None: no embedding. Raises: SecretsUnavailable."""


class _NoEmbeddings:
    def descriptions(self) -> list[EmbeddingModelDescription]:
        return []

    def default_handle(self) -> str | None:
        return None


NO_EMBEDDINGS: EmbeddingOffer = _NoEmbeddings()
"""The offer of a deployment without embedding."""
