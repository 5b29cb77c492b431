"""Texts to vectors. Which model makes them is stored with each archive, and holds for its life."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hibernaut.schemas.llm_config import EmbeddingConfig

Vector = tuple[float, ...]


class EmbedderFailed(Exception):
    """The texts could not be embedded now; `retryable`: the same may succeed later. `of_texts`: a text of these is to blame, and the
    others may be embedded without it. The text names no content."""

    def __init__(self, detail: str, *, retryable: bool, of_texts: bool = False) -> None:
        self.retryable, self.of_texts = retryable, of_texts
        super().__init__(detail)


class Embedder(Protocol):
    """One model. Thread-safe. Vectors have unit norm (length one within 1e-3), so that a dot product is a cosine."""

    @property
    def space(self) -> str:
        """The name of its space: lower-case letters, digits and hyphens; the same model at the same dimension has the same name."""

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """How much of a text it reads, in its own tokens, markers not counted; what is longer must be cut before."""

    def count(self, text: str) -> int:
        """The size of a text in its own tokens, as near as is known. Raises: EmbedderFailed where the model cannot be loaded."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """One vector for each text, in order; any number of them, any length, of which the beginning counts. `query`: the texts are
        asked for, not kept: some models read those differently, and their vectors are remembered for a while. Raises: EmbedderFailed."""


class Embedders(Protocol):
    """Which there are."""

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        """The model behind a configuration; None where there is no configuration, or nothing here can serve it (any more)."""

    def default(self) -> EmbeddingConfig | None:
        """What a new archive and the log are embedded by; None: nothing, search goes by words alone."""
