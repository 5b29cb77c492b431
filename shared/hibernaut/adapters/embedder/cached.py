"""A cache of recent vectors. A repeated or paged search does not call the model again, and a text that a search has embedded
before it was indexed is not embedded again by the indexer.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from hibernaut.adapters.embedder.wrapped_embedder import WrappedEmbedder
from hibernaut.ports.memory.embedder import Embedder, Vector

MOST_QUERIES = 256
"""The number of vectors: some 12 kB each for 384 dimensions, 100 kB for 3,072."""
MOST_TEXTS = 256
"""More than one search embeds of what waits for the index (`services.search.candidates`)."""


class CachedEmbedder(WrappedEmbedder):
    """An embedder with a cache, keyed by a hash of the text, so that long texts are not stored. Queries and documents have
    separate caches: some models embed them differently, and an import does not evict queries.
    """

    def __init__(self, inner: Embedder, most: int = MOST_QUERIES, most_texts: int = MOST_TEXTS) -> None:
        super().__init__(inner)
        self._most = {True: most, False: most_texts}
        self._lock = threading.Lock()
        self._vectors: dict[bool, OrderedDict[bytes, Vector]] = {True: OrderedDict(), False: OrderedDict()}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """As the port says. Two threads with the same new text may both call the model."""
        sums = [_sum(text) for text in texts]
        found = self._remembered(sums, query)
        missing = {key: text for key, text in zip(sums, texts, strict=True) if key not in found}
        if missing:
            vectors = dict(zip(missing, self._inner.embed(list(missing.values()), query=query), strict=True))
            self._keep(vectors, query)
            found |= vectors
        return [found[key] for key in sums]

    def known(self, texts: Sequence[str]) -> list[Vector | None]:
        """As the port says. What is asked for stays longest in the cache."""
        sums = [_sum(text) for text in texts]
        found = self._remembered(sums, query=False)
        return [found.get(key) for key in sums]

    def _remembered(self, sums: Sequence[bytes], query: bool) -> dict[bytes, Vector]:
        with self._lock:
            cache = self._vectors[query]
            found = {key: cache[key] for key in sums if key in cache}
            for key in found:
                cache.move_to_end(key)
            return found

    def _keep(self, vectors: dict[bytes, Vector], query: bool) -> None:
        with self._lock:
            cache = self._vectors[query]
            cache |= vectors
            while len(cache) > self._most[query]:
                cache.popitem(last=False)


def _sum(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
