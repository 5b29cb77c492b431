"""An embedder for tests: it hashes the words of a text into buckets. Deterministic, without dependencies.

The similarity of two texts is the share of their common words. It passes the contract suite of the port.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hibernaut.adapters.embedder.uncached import UncachedEmbedder
from hibernaut.ports.memory.embedder import EmbedderFailed, Vector
from hibernaut.schemas.models.llm_config import EmbeddingConfig

WORD = re.compile(r"\w+")


@dataclass(eq=False)
class HashingEmbedder(UncachedEmbedder):
    """`refuses`: the error of every call, or with `only` of each call with a text that contains it. `asked` counts the calls,
    `embedded` the texts.
    """

    dimension: int = 64
    max_tokens: int = 254
    batch: int = 100
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
    """The port `Embedders` with one embedder for every configuration of its dimension, one of which is the default."""

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
    """The hashed words as a vector of unit norm."""
    sums = [0.0] * dimension
    for word in words or ("",):
        number = int.from_bytes(hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
        sums[(number >> 1) % dimension] += 1.0 if number & 1 else -1.0
    length = math.hypot(*sums)
    # Words may cancel each other out: their sum then has no direction.
    return tuple(each / length for each in sums) if length else (1.0, *[0.0] * (dimension - 1))
