"""Vectors of the queries and texts that were embedded last, kept in memory: a search that is paged, or asked again, asks its model once, and
a text that a search has compared before the index knew it is not embedded again by whoever indexes it."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from hibernaut.ports.embedder import Embedder, Vector

MOST_QUERIES = 256
"""Some 12 kB each for 384 dimensions, 100 kB for 3,072."""
MOST_TEXTS = 64


class CachedEmbedder:
    """An embedder that remembers vectors by a sum of their texts, so that a long one is not kept. Queries and texts are apart: some models
    read them differently, and an import does not drive queries out."""

    def __init__(self, inner: Embedder, most: int = MOST_QUERIES, most_texts: int = MOST_TEXTS) -> None:
        self._inner = inner
        self._most = {True: most, False: most_texts}
        self._lock = threading.Lock()
        self._known: dict[bool, OrderedDict[bytes, Vector]] = {True: OrderedDict(), False: OrderedDict()}

    @property
    def space(self) -> str:
        return self._inner.space

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    def count(self, text: str) -> int:
        return self._inner.count(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """As the port says. Two threads with the same new text may both ask the model."""
        sums = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
        found = self._remembered(sums, query)
        missing = {key: text for key, text in zip(sums, texts, strict=True) if key not in found}
        if missing:
            made = dict(zip(missing, self._inner.embed(list(missing.values()), query=query), strict=True))
            self._keep(made, query)
            found |= made
        return [found[key] for key in sums]

    def _remembered(self, sums: Sequence[bytes], query: bool) -> dict[bytes, Vector]:
        with self._lock:
            known = self._known[query]
            found = {key: known[key] for key in sums if key in known}
            for key in found:
                known.move_to_end(key)
            return found

    def _keep(self, made: dict[bytes, Vector], query: bool) -> None:
        with self._lock:
            known = self._known[query]
            known |= made
            while len(known) > self._most[query]:
                known.popitem(last=False)
