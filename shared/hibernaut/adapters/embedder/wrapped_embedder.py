"""A wrapper of an embedder, with the space, the sizes and the counts of the inner one. Knows the port; must not know the purpose
of the wrapper.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.memory.embedder import Embedder, Vector


class WrappedEmbedder:
    """What an embedder around another one shows of it. The classes that wrap add `embed`."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def space(self) -> str:
        return self._inner.space

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    @property
    def batch(self) -> int:
        return self._inner.batch

    def count(self, text: str) -> int:
        return self._inner.count(text)

    def known(self, texts: Sequence[str]) -> list[Vector | None]:
        return self._inner.known(texts)

    def likeness(self, query: str, texts: Sequence[str]) -> list[float] | None:
        return self._inner.likeness(query, texts)
