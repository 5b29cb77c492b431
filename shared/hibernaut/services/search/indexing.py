"""Feeds the index from the table: reads the current records that pointers name, embeds them, writes the documents, deletes the
pointers.

Indexing is idempotent by the names and versions of the documents: a pointer may be processed twice, late, or by two workers at
once. If the index is asleep or the embedder is unreachable, the pointers stay: searches find their records in the table, and the
next pass indexes them. If the embedder refuses (wrong key, no credit, unknown model), the records are indexed by words only, and
the pointers change to the state AGAIN: a later pass embeds the records when the embedder works again, and nothing waits for it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hibernaut.domain.search import index_documents
from hibernaut.domain.search.index_documents import in_context, place_of
from hibernaut.ports.embedder import Embedder, EmbedderFailed, Vector
from hibernaut.ports.memory_index import IndexAsleep, MemoryIndex
from hibernaut.ports.table import Change, ConditionFailed, Item, Key
from hibernaut.schemas.memory.search import IndexDocument
from hibernaut.services.search.search_sources import EmbeddingSpace, SearchSources
from hibernaut.store.memory.search_outbox import Pointer
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys

EMBEDDED_AT_ONCE = 32
"""Texts of one embedder call. Between two calls other users of the embedder get their turn."""
MOST_TOGETHER = 32
"""The largest number of pointers that are indexed together; one transaction deletes them."""
MOST_REFUSED = 10_000
"""The largest number of a tenant's AGAIN pointers that one retry pass reads."""
MOST_REFUSALS = 3
"""Failures in one space after which a retry pass skips the other pointers of that space."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexedBatch:
    """The result of a batch: the number of indexed pointers, and the keys to process again. `asleep`: the index was unavailable."""

    done: int
    left: tuple[Key, ...] = ()
    asleep: bool = False


class EmbedderRefusals:
    """The spaces whose embedder refuses, over all tenants. A refusal is logged once per space, until the embedder works again."""

    def __init__(self) -> None:
        self._spaces: set[str] = set()

    def refused(self, space: EmbeddingSpace, error: EmbedderFailed) -> None:
        """Record that the embedder of this space has refused."""
        if space.name not in self._spaces:
            self._spaces.add(space.name)
            extra = {"space": space.name, "reason": str(error)}
            logger.error("embedding refused, memory is found by words until it works again", extra=extra)

    def embedded(self, space: EmbeddingSpace) -> None:
        """Record that the embedder of this space works."""
        self._spaces.discard(space.name)


class Indexing:
    """Indexes the records that the pointers of one tenant name. `unindexed` is the tenant's outbox; all tenants share
    `refusals`.
    """

    def __init__(self, stores: TenantStores, index: MemoryIndex, sources: SearchSources, refusals: EmbedderRefusals) -> None:
        self.unindexed = stores.unindexed
        self._stores = stores
        self._index = index
        self._sources = sources
        self._refusals = refusals

    def take(self, told: Iterable[tuple[Key, Item | None]]) -> IndexedBatch:
        """Index the records that these change-stream items point to.

        Skips items that are no pointers, pointers that no longer stand in the table, and pointers in the state AGAIN. If the
        index is asleep, the remaining pointers are not tried. Index and embedder errors end in the result and are not raised.
        """
        named = [key for key, new in told if new is not None and keys.is_unindexed(key)]
        groups = _groups(pointer for pointer in self.unindexed.standing(named) if pointer.state != "AGAIN")
        left: list[Key] = []
        done = 0
        for number, group in enumerate(groups):
            try:
                changes = self._brought(group)
            except IndexAsleep as error:
                _not_yet(group, error)
                rest = [pointer.key for later in groups[number:] for pointer in later]
                return IndexedBatch(done, (*left, *rest), asleep=True)
            except (EmbedderFailed, ValueError) as error:
                _not_yet(group, error)
                left += [pointer.key for pointer in group]
            else:
                self._settle_all(group, changes)
                done += len(group)
        return IndexedBatch(done, tuple(left))

    def ask_again(self, *, going: Callable[[], bool]) -> None:
        """Retry the texts that an embedder refused (state AGAIN), as long as `going` returns True. Ends if the index is asleep.

        Index and embedder errors are not raised.
        """
        failures = Counter[str]()
        for pointer in self.unindexed.to_ask_again(MOST_REFUSED):
            if not going():
                return
            space = self._sources.space_of(pointer)
            if failures[space.name] >= MOST_REFUSALS:
                continue
            try:
                changes = self._brought([pointer])
            except IndexAsleep:
                return
            except (EmbedderFailed, ValueError):
                failures[space.name] += 1
            else:
                self._settle_all([pointer], changes)

    def _settle_all(self, group: Sequence[Pointer], changes: Sequence[Sequence[Change]]) -> None:
        """Write the outcome of each pointer: in one transaction, or one by one if another worker has changed a pointer
        meanwhile.
        """
        if len(group) > 1:
            with suppress(ConditionFailed):
                return self._stores.writer.write(*(change for some in changes for change in some))
        for pointer, some in zip(group, changes, strict=True):
            with suppress(ConditionFailed):  # another worker was faster, or the pointer is a newer one, which stays
                self._settle(pointer, some)
        return None

    def _settle(self, pointer: Pointer, changes: Sequence[Change]) -> None:
        """Write the outcome of a pointer, and in the same transaction the file's count of embedded pieces, so that each counts
        once.

        Only the pointers that were written with the pieces count, not those of a rebuild. Raises: ConditionFailed.
        """
        if pointer.kind != "file" or pointer.state != "EMBED" or pointer.build:
            self._stores.writer.write(*changes)
            return
        counted = self._stores.files.counted(pointer.within, len(pointer.ids))
        try:
            self._stores.writer.write(counted, *changes)
        except ConditionFailed as failure:
            if set(failure.failed) != {0}:
                raise
            self._stores.writer.write(*changes)  # the file is gone: there is nothing to count
            return
        self._stores.files.complete(pointer.within)

    def _brought(self, group: Sequence[Pointer]) -> list[list[Change]]:
        """Index a group; returns for each pointer the changes that record its outcome: deleted, or changed to EMBED or AGAIN.

        Raises: IndexAsleep, EmbedderFailed (retryable, or for a pointer in the state AGAIN).
        """
        pointer = _joined(group)
        space = self._sources.space_of(pointer)
        read = self._sources.read(pointer)
        self.remove(pointer.within, read.gone)
        follows: Callable[[Pointer], list[Change]] = self._done
        if pointer.state == "NEW" and pointer.kind == "file" and space.embedder is not None and read.documents:
            self._index.put(space.name, read.documents)
            follows = self.unindexed.worded
        else:
            try:
                self._put(group, read.documents, space)
            except EmbedderFailed as error:
                if error.retryable or pointer.state == "AGAIN":
                    raise
                self._refusals.refused(space, error)
                self._index.put(space.name, read.documents)
                follows = self.unindexed.refused
        self._forget_deleted(pointer, read.documents)
        return [follows(each) for each in group]

    def _done(self, pointer: Pointer) -> list[Change]:
        return [self.unindexed.forget(pointer)]

    def _forget_deleted(self, pointer: Pointer, written: Sequence[IndexDocument]) -> None:
        """Remove the documents whose records were deleted between the read and the write, however long that took.

        A record that is deleted after this check has a pointer younger than the write. Raises: IndexAsleep.
        """
        if written:
            self.remove(pointer.within, self._sources.gone(pointer))

    def _put(self, group: Sequence[Pointer], documents: Sequence[IndexDocument], space: EmbeddingSpace) -> None:
        """Write documents, embedded if the space has an embedder; each vector takes in a share of the preceding text's vector.

        Raises: IndexAsleep, EmbedderFailed.
        """
        if space.embedder is None:
            self._index.put(space.name, documents)
            return
        ordered = self._with_texts_before(group, documents)
        before: Vector | None = None
        for start in range(0, len(ordered), EMBEDDED_AT_ONCE):
            fresh = list[IndexDocument]()
            for document in self._embedded(space.embedder, ordered[start : start + EMBEDDED_AT_ONCE]):
                if document.id:
                    fresh.append(in_context(document, before))
                before = document.vector
            self._index.put(space.name, fresh)
            self._refusals.embedded(space)

    def _with_texts_before(self, group: Sequence[Pointer], documents: Sequence[IndexDocument]) -> list[IndexDocument]:
        """The documents in the order of their ids, with the preceding text before a pointer's first document.

        That text is a document with an empty id: it is embedded for its context and not indexed. It is left out if the document
        before it in the list has the same text.
        """
        ordered = sorted(documents, key=lambda document: document.id)
        there = {place_of(document.id)[1] for document in ordered}
        firsts = [min(found) for pointer in group if (found := there.intersection(pointer.ids))]
        texts = self._sources.texts_before(_joined(group), firsts) if firsts else {}
        chain: list[IndexDocument] = []
        for document in ordered:
            text = texts.get(place_of(document.id)[1])
            if text and not (chain and chain[-1].text == text):
                chain.append(document.model_copy(update={"id": "", "text": text}))
            chain.append(document)
        return chain

    def _embedded(self, embedder: Embedder, documents: Sequence[IndexDocument]) -> Sequence[IndexDocument]:
        """The documents with their vectors. A text that can never be embedded stays without a vector and is found by words only.

        Raises: EmbedderFailed if the failure is retryable or not caused by the texts.
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

    def remove(self, within: str, ids: Sequence[str]) -> None:
        """Remove deleted records from every space of the index: their place may have another embedder now, or be deleted as well.

        Raises: IndexAsleep.
        """
        for name in self._index.spaces() if ids else ():
            self._index.remove(name, index_documents.gone(self._stores.tenant, within, ids))


def by_tenant(told: Iterable[tuple[Key, Item | None]]) -> dict[str, list[tuple[Key, Item | None]]]:
    """The pointer items by tenant, each tenant's in their order; other items are left out."""
    found: dict[str, list[tuple[Key, Item | None]]] = {}
    for key, new in told:
        if keys.is_unindexed(key):
            found.setdefault(keys.tenant_of(key.pk), []).append((key, new))
    return found


def _groups(pointers: Iterable[Pointer]) -> list[list[Pointer]]:
    """Groups of pointers that are indexed together: the NEW pointers of one log or one archive, at most `MOST_TOGETHER`.

    A pointer of a file, or in another state, forms its own group: it names many pieces, and each such pointer is counted by
    itself.
    """
    groups: dict[tuple[object, ...], list[Pointer]] = {}
    for pointer in pointers:
        own = pointer.key if pointer.kind == "file" or pointer.state != "NEW" else None
        groups.setdefault((pointer.kind, pointer.place, pointer.within, own), []).append(pointer)
    return [some[at : at + MOST_TOGETHER] for some in groups.values() for at in range(0, len(some), MOST_TOGETHER)]


def _joined(group: Sequence[Pointer]) -> Pointer:
    """A pointer with the ids of all pointers of the group. It serves reads only and is never written."""
    ids = dict.fromkeys(record_id for pointer in group for record_id in pointer.ids)
    return replace(group[0], ids=tuple(ids))


def _not_yet(group: Sequence[Pointer], error: Exception) -> None:
    extra = {"kind": group[0].kind, "pointers": len(group), "reason": type(error).__name__}
    logger.warning("not indexed yet", extra=extra)
