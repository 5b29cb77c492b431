"""Feeding the index from the table: what pointers name is read as it is now, embedded, and written to the index; then they go.

Idempotent by the documents' names and versions, so that a pointer may be told twice, late, or by two workers at once. Where the index
sleeps or nobody embeds, the pointers stay: a search finds what they name, and the next telling indexes it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hibernaut.domain import index_documents
from hibernaut.ports.embedder import Embedder, EmbedderFailed, Vector
from hibernaut.ports.memory_index import IndexAsleep, MemoryIndex
from hibernaut.ports.table import Change, ConditionFailed, Item, Key, Table
from hibernaut.schemas.search import IndexDocument
from hibernaut.services.memory_sources import MemorySources, Space
from hibernaut.store import keys
from hibernaut.store.stores import Stores
from hibernaut.store.unindexed import Pointer

EMBEDDED_AT_ONCE = 32
"""Texts that are embedded together; between them others get their turn."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Indexed:
    """How a batch ended: the pointers that are done with, and those that must be told again; `asleep`: because the index sleeps."""

    done: int
    left: tuple[Key, ...] = ()
    asleep: bool = False


class Indexing:
    def __init__(self, table: Table, stores: Stores, index: MemoryIndex, sources: MemorySources) -> None:
        self._table = table
        self._stores = stores
        self._index = index
        self._sources = sources

    def take(self, told: Iterable[tuple[Key, Item | None]]) -> Indexed:
        """Index what these items of the change stream point to; anything but a pointer that still stands is passed over.

        Where the index sleeps, the rest is not tried. Raises: nothing of the index's or the embedder's.
        """
        named = [key for key, new in told if new is not None and keys.is_unindexed(key)]
        items = self._table.get_many(named)
        standing = [self._stores.unindexed.read(items[key]) for key in dict.fromkeys(named) if key in items]
        left: list[Key] = []
        for place, pointer in enumerate(standing):
            try:
                changes = self._index_one(pointer)
            except IndexAsleep as error:
                _not_yet(pointer, error)
                rest = [each.key for each in standing[place:]]
                return Indexed(place - len(left), (*left, *rest), asleep=True)
            except (EmbedderFailed, ValueError) as error:
                _not_yet(pointer, error)
                left.append(pointer.key)
            else:
                with suppress(ConditionFailed):  # another worker was faster, or it was written anew: then it stays
                    self._settle(pointer, changes)
        return Indexed(len(standing) - len(left), tuple(left))

    def _settle(self, pointer: Pointer, changes: Sequence[Change]) -> None:
        """Write what follows, and count with it what was embedded of a file, so that nothing is counted twice or not at all: by the
        pointers that were written with its pieces, not by those of an index that is built anew. Raises: ConditionFailed.
        """
        if pointer.kind != "file" or pointer.state != "EMBED" or pointer.build:
            self._stores.writer.write(*changes)
            return
        counted = self._stores.files.counted(pointer.tenant, pointer.within, len(pointer.ids))
        try:
            self._stores.writer.write(counted, *changes)
        except ConditionFailed as failure:
            if set(failure.failed) != {0}:
                raise
            self._stores.writer.write(*changes)  # the file is gone: there is nothing to count
            return
        self._stores.files.complete(pointer.tenant, pointer.within)

    def _index_one(self, pointer: Pointer) -> list[Change]:
        """What is written when the index knows: the pointer is done with, or leaves only the embedding to be done.

        Raises: IndexAsleep, EmbedderFailed.
        """
        unindexed, space = self._stores.unindexed, self._sources.space_of(pointer)
        read = self._sources.read(pointer)
        self.remove(pointer.tenant, pointer.within, read.gone)
        if pointer.state == "NEW" and pointer.kind == "file" and space.embedder is not None and read.documents:
            self._index.put(space.name, read.documents)
            self._forget_deleted(pointer, read.documents)
            return unindexed.worded(pointer)
        self.put(read.documents, space)
        self._forget_deleted(pointer, read.documents)
        return [unindexed.forget(pointer)]

    def _forget_deleted(self, pointer: Pointer, written: Sequence[IndexDocument]) -> None:
        """Take away again what was deleted between its reading and its writing, however long that took. What is deleted after this
        look has a pointer that is younger than the writing. Raises: IndexAsleep."""
        if written:
            self.remove(pointer.tenant, pointer.within, self._sources.gone(pointer))

    def put(self, documents: Sequence[IndexDocument], space: Space) -> int:
        """Write documents, embedded where somebody can; how many were.

        Raises: IndexAsleep, EmbedderFailed.
        """
        if not documents:
            return 0
        if space.embedder is None:
            self._index.put(space.name, documents)
            return 0
        for start in range(0, len(documents), EMBEDDED_AT_ONCE):
            some = documents[start : start + EMBEDDED_AT_ONCE]
            self._index.put(space.name, self._embedded(space.embedder, some))
        return len(documents)

    def _embedded(self, embedder: Embedder, documents: Sequence[IndexDocument]) -> Sequence[IndexDocument]:
        """With their vectors; as they are, to be found by words, where these texts can never be embedded.

        Raises: EmbedderFailed where it may be possible later.
        """
        try:
            vectors: list[Vector] = embedder.embed([document.text for document in documents])
        except EmbedderFailed as error:
            if error.retryable:
                raise
            if error.of_texts and len(documents) > 1:
                middle = len(documents) // 2
                return [*self._embedded(embedder, documents[:middle]), *self._embedded(embedder, documents[middle:])]
            logger.warning("found by words only", extra={"documents": len(documents), "space": embedder.space})
            return documents
        return [index_documents.embedded(document, vector) for document, vector in zip(documents, vectors, strict=True)]

    def remove(self, tenant: str, within: str, ids: Sequence[str]) -> None:
        """Let the index forget records that are gone, in every space: what made their vectors may be another now, or gone as well.

        Raises: IndexAsleep.
        """
        for name in self._index.spaces() if ids else ():
            self._index.remove(name, index_documents.gone(tenant, within, ids))


def _not_yet(pointer: Pointer, error: Exception) -> None:
    logger.warning("not indexed yet", extra={"kind": pointer.kind, "reason": type(error).__name__})
