"""What an embedder without a cache of its own knows. Knows the port alone."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.memory.embedder import Vector


class UncachedEmbedder:
    """The base of the models' own classes, around which a server puts a `CachedEmbedder`."""

    def known(self, texts: Sequence[str]) -> list[Vector | None]:
        """Nothing."""
        return [None] * len(texts)

    def likeness(self, query: str, texts: Sequence[str]) -> list[float] | None:  # noqa: ARG002 - for those that have one
        """None: a service has no estimate that is cheaper than a call."""
        return None
