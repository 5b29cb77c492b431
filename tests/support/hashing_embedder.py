"""An embedder for tests: the words of a text thrown into buckets by their sums. Deterministic, needs nothing, and means nothing.

Texts are near each other as far as they share words. It obeys the port's contract, which its own suite shows.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hibernaut.ports.embedder import EmbedderFailed, Vector
from hibernaut.schemas.llm_config import EmbeddingConfig

WORD = re.compile(r"\w+")


@dataclass
class HashingEmbedder:
    """`refuses`: every call fails with it, or, where `only` is given, each with a text that holds this. `asked` counts the calls, `embedded`
    the texts."""

    dimension: int = 64
    max_tokens: int = 254
    refuses: EmbedderFailed | None = None
    only: str = ""
    asked: int = 0
    embedded: list[str] = field(default_factory=list)

    @property
    def space(self) -> str:
        return f"hashing-{self.dimension}"

    def count(self, text: str) -> int:
        return len(WORD.findall(text))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:  # noqa: ARG002 - it reads both alike
        self.asked += 1
        if self.refuses is not None and any(self.only in text for text in texts):
            raise self.refuses
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        return hashed(WORD.findall(text.lower())[: self.max_tokens], self.dimension)


@dataclass
class OneEmbedder:
    """The port `Embedders` with one embedder: any configuration of its dimension is served, and `default` is one of them."""

    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    defaults: bool = True

    def of(self, config: EmbeddingConfig | None) -> HashingEmbedder | None:
        return self.embedder if config is not None and config.embedding_dim == self.embedder.dimension else None

    def default(self) -> EmbeddingConfig | None:
        if not self.defaults:
            return None
        return EmbeddingConfig(
            embedding_endpoint_type="test",
            embedding_model="hashing",
            embedding_dim=self.embedder.dimension,
            handle="test/hashing",
        )


def hashed(words: Sequence[str], dimension: int) -> Vector:
    """A vector of length one."""
    sums = [0.0] * dimension
    for word in words or ("",):
        number = int.from_bytes(hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
        sums[(number >> 1) % dimension] += 1.0 if number & 1 else -1.0
    length = math.hypot(*sums)
    # Words that cancel each other out have no direction left.
    return tuple(each / length for each in sums) if length else (1.0, *[0.0] * (dimension - 1))
