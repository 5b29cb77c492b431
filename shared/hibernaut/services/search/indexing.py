"""Feeding the index from the table: what pointers name is read as it is now, embedded, and written to the index; then they go.

Idempotent by the documents' names and versions, so that a pointer may be told twice, late, or by two workers at once. Where the index
sleeps or an embedder is out of reach, the pointers stay: a search finds what they name, and the next telling indexes it. Where an embedder
refuses (a wrong key, no credit, no such model), what they name is indexed by its words and done with; other pointers, at which nobody
waits, have it embedded when the embedder works again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hibernaut.domain.search import index_documents
from hibernaut.domain.search.index_documents import in_context, place_of
from hibernaut.ports.embedder import Embedder, EmbedderFailed, Vector
from hibernaut.ports.memory_index import IndexAsleep, MemoryIndex
from hibernaut.ports.table import Change, ConditionFailed, Item, Key, Table
from hibernaut.schemas.search import IndexDocument
from hibernaut.services.search.search_sources import EmbeddingSpace, SearchSources
from hibernaut.store import keys
from hibernaut.store.search_outbox import Pointer
from hibernaut.store.stores import Stores

EMBEDDED_AT_ONCE = 32
"""Texts that are embedded together; between them others get their turn."""
MOST_REFUSED = 10_000
"""Pointers of a tenant to what was refused that are looked up at once."""
MOST_REFUSALS = 3
"""Of one model, after which the rest waits for the next time."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexedBatch:
    """How a batch ended: the pointers that are done with, and those that must be told again; `asleep`: because the index sleeps."""

    done: int
    left: tuple[Key, ...] = ()
    asleep: bool = False


class Indexing:
    """Writes to the index what outbox pointers name."""

    def __init__(self, table: Table, stores: Stores, index: MemoryIndex, sources: SearchSources) -> None:
        self._table = table
        self._stores = stores
        self._index = index
        self._sources = sources
        self._refusing: set[str] = set()

    def take(self, told: Iterable[tuple[Key, Item | None]]) -> IndexedBatch:
        """Index what these items of the change stream point to; anything but a pointer that still stands is passed over, and what was
        refused.

        Where the index sleeps, the rest is not tried. Raises: nothing of the index's or the embedder's.
        """
        named = [key for key, new in told if new is not None and keys.is_unindexed(key)]
        items = self._table.get_many(named)
        there = [self._stores.unindexed.read(items[key]) for key in dict.fromkeys(named) if key in items]
        standing = [pointer for pointer in there if pointer.state != "AGAIN"]
        left: list[Key] = []
        for place, pointer in enumerate(standing):
            try:
                changes = self._index_one(pointer)
            except IndexAsleep as error:
                _not_yet(pointer, error)
                rest = [each.key for each in standing[place:]]
                return IndexedBatch(place - len(left), (*left, *rest), asleep=True)
            except (EmbedderFailed, ValueError) as error:
                _not_yet(pointer, error)
                left.append(pointer.key)
            else:
                with suppress(ConditionFailed):  # another worker was faster, or it was written anew: then it stays
                    self._settle(pointer, changes)
        return IndexedBatch(len(standing) - len(left), tuple(left))

    def ask_again(self, tenant: str, *, going: Callable[[], bool]) -> None:
        """Embed what was refused, where nobody refuses any more, as long as it is `going`. Raises: nothing of the index's or the
        embedder's."""
        failures = Counter[str]()
        for pointer in self._stores.unindexed.to_ask_again(tenant, MOST_REFUSED):
            if not going():
                return
            space = self._sources.space_of(pointer)
            if failures[space.name] >= MOST_REFUSALS:
                continue
            try:
                changes = self._index_one(pointer)
            except IndexAsleep:
                return
            except (EmbedderFailed, ValueError):
                failures[space.name] += 1
            else:
                with suppress(ConditionFailed):
                    self._settle(pointer, changes)

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
        try:
            self._put(pointer, read.documents, space)
            changes: list[Change] = [unindexed.forget(pointer)]
        except EmbedderFailed as error:
            if error.retryable or pointer.state == "AGAIN":
                raise
            self._say_refused(space, error)
            self._index.put(space.name, read.documents)
            changes = unindexed.refused(pointer)
        self._forget_deleted(pointer, read.documents)
        return changes

    def _say_refused(self, space: EmbeddingSpace, error: EmbedderFailed) -> None:
        """Once, until it embeds again."""
        if space.name not in self._refusing:
            self._refusing.add(space.name)
            extra = {"space": space.name, "reason": str(error)}
            logger.error("embedding refused, memory is found by words until it works again", extra=extra)

    def _forget_deleted(self, pointer: Pointer, written: Sequence[IndexDocument]) -> None:
        """Take away again what was deleted between its reading and its writing, however long that took. What is deleted after this
        look has a pointer that is younger than the writing. Raises: IndexAsleep."""
        if written:
            self.remove(pointer.tenant, pointer.within, self._sources.gone(pointer))

    def _put(self, pointer: Pointer, documents: Sequence[IndexDocument], space: EmbeddingSpace) -> None:
        """Write documents, embedded where somebody can, each with a little of what stands before it.

        Raises: IndexAsleep, EmbedderFailed.
        """
        if space.embedder is None:
            self._index.put(space.name, documents)
            return
        ordered = self._from_before(pointer, documents)
        before: Vector | None = None
        for start in range(0, len(ordered), EMBEDDED_AT_ONCE):
            fresh = list[IndexDocument]()
            for document in self._embedded(space.embedder, ordered[start : start + EMBEDDED_AT_ONCE]):
                if document.id:
                    fresh.append(in_context(document, before))
                before = document.vector
            self._index.put(space.name, fresh)
            self._refusing.discard(space.name)

    def _from_before(self, pointer: Pointer, documents: Sequence[IndexDocument]) -> list[IndexDocument]:
        """In the order in which they stand, behind the text before the first, which has no id here and is embedded with them."""
        ordered = sorted(documents, key=lambda document: document.id)
        text = self._sources.text_before(pointer, place_of(ordered[0].id)[1]) if ordered else None
        return [ordered[0].model_copy(update={"id": "", "text": text}), *ordered] if text else ordered

    def _embedded(self, embedder: Embedder, documents: Sequence[IndexDocument]) -> Sequence[IndexDocument]:
        """With their vectors; as they are, to be found by words, where these texts can never be embedded.

        Raises: EmbedderFailed where it is not the texts, or may be possible later.
        """
        try:
            vectors: list[Vector] = embedder.embed([document.text for document in documents])
        except EmbedderFailed as error:
            if error.retryable or not error.of_texts:
                raise
            if len(documents) > 1:
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
