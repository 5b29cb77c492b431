"""The vectors of the queries asked last, kept in memory: a search that is paged, or asked again, asks its model once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from hibernaut.ports.embedder import Embedder, Vector

MOST_QUERIES = 256
"""Some 12 kB each for 384 dimensions, 100 kB for 3,072."""


class CachedEmbedder:
    """An embedder that remembers its queries' vectors by a sum of their texts, so that a long one is not kept. Others pass through."""

    def __init__(self, inner: Embedder, most: int = MOST_QUERIES) -> None:
        self._inner = inner
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Vector] = OrderedDict()

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
        """As the port says. Two threads with the same new query may both ask the model."""
        if not query:
            return self._inner.embed(texts)
        sums = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
        found = self._remembered(sums)
        missing = {key: text for key, text in zip(sums, texts, strict=True) if key not in found}
        if missing:
            made = dict(zip(missing, self._inner.embed(list(missing.values()), query=True), strict=True))
            self._keep(made)
            found |= made
        return [found[key] for key in sums]

    def _remembered(self, sums: Sequence[bytes]) -> dict[bytes, Vector]:
        with self._lock:
            found = {key: self._known[key] for key in sums if key in self._known}
            for key in found:
                self._known.move_to_end(key)
            return found

    def _keep(self, made: dict[bytes, Vector]) -> None:
        with self._lock:
            self._known |= made
            while len(self._known) > self._most:
                self._known.popitem(last=False)
