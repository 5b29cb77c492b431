"""Feeds the index from the table: reads the current records that pointers name, embeds them, writes the documents, deletes the
pointers.

Indexing is idempotent by the names and versions of the documents: a pointer may be processed twice, late, or by two workers at
once. With an index that shows writes late, the pointers stay until the writes are visible (`late_visibility`). If the index is
asleep or the embedder is unreachable, the pointers stay: searches find their records in the table, and the next pass indexes
them. If the embedder refuses (wrong key, no credit, unknown model), the records are indexed by words only, and the pointers
change to the state AGAIN: a later pass embeds the records when the embedder works again, and nothing waits for it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from hibernaut.domain.search import index_documents
from hibernaut.domain.search.index_documents import in_context, name_of, place_of
from hibernaut.ports.clock import Clock
from hibernaut.ports.memory.embedder import Embedder, EmbedderFailed, Vector
from hibernaut.ports.memory.memory_index import IndexAsleep, MemoryIndex
from hibernaut.ports.storage.table import Change, ConditionFailed, Item, Key
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.search_index import IndexDocument
from hibernaut.services.search.late_visibility import LateVisibility
from hibernaut.services.search.search_sources import EmbeddingSpace, SearchSources
from hibernaut.store.memory.search_outbox import NextState, Pointer
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys

EMBEDDED_AT_ONCE = 32
"""Texts of one embedder call. Between two calls other users of the embedder get their turn."""
MOST_TOGETHER = 32
"""The largest number of pointers that are indexed together; one transaction deletes them."""
MOST_REFUSED = 10_000
"""The largest number of a tenant's AGAIN pointers that one retry pass reads."""
MOST_REFUSALS = 3
"""Failures of one embedder after which a retry pass skips its other pointers."""
logger = logging.getLogger(__name__)


@immutable
class IndexedBatch:
    """The result of a batch: the number of indexed pointers, and the keys to process again. `asleep`: the index was unavailable.
    `oldest_ms`: the age of the oldest record of these keys in milliseconds, where the batch knows it.
    """

    done: int
    remaining: tuple[Key, ...] = ()
    asleep: bool = False
    oldest_ms: int = 0


class EmbedderRefusals:
    """The embedders that refuse, over all tenants. A refusal is logged once per embedder, until it works again: two tenants may
    embed into one space by keys of their own.
    """

    def __init__(self) -> None:
        self._refusing: set[Embedder | None] = set()

    def refused(self, space: EmbeddingSpace, error: EmbedderFailed) -> None:
        """Record that the embedder of this space has refused."""
        if space.embedder not in self._refusing:
            self._refusing.add(space.embedder)
            extra = {"space": space.name, "reason": str(error)}
            logger.error("embedding refused, memory is found by words until it works again", extra=extra)

    def embedded(self, space: EmbeddingSpace) -> None:
        """Record that the embedder of this space works."""
        self._refusing.discard(space.embedder)


class Indexing:
    """Indexes the records that the pointers of one tenant name. `search_outbox` is the tenant's outbox; all tenants share
    `refusals`.
    """

    def __init__(
        self, stores: TenantStores, index: MemoryIndex, sources: SearchSources, refusals: EmbedderRefusals, clock: Clock
    ) -> None:
        self.search_outbox = stores.search_outbox
        self._visibility = LateVisibility(stores.search_outbox, index, clock)
        self._stores = stores
        self._index = index
        self._sources = sources
        self._refusals = refusals

    def take(self, items: Iterable[tuple[Key, Item | None]]) -> IndexedBatch:
        """Index the records that these change-stream items point to.

        Skips items that are no pointers, pointers that no longer stand in the table, pointers in the state AGAIN, and those whose
        records the index does not show yet. If the index is asleep, the remaining pointers are not tried. Index and embedder
        errors end in the result and are not raised.
        """
        pointer_keys = [key for key, new in items if new is not None and keys.is_unindexed(key)]
        pointers = [pointer for pointer in self.search_outbox.standing(pointer_keys) if pointer.state != "AGAIN"]
        groups = _groups(pointer for pointer in pointers if not self._visibility.pending(pointer))
        failed: list[Key] = []
        indexed = 0
        for number, group in enumerate(groups):
            try:
                changes = self._indexed(group)
            except IndexAsleep as error:
                _not_yet(group, error)
                remaining = [pointer.key for later in groups[number:] for pointer in later]
                return IndexedBatch(indexed, (*failed, *remaining), asleep=True)
            except (EmbedderFailed, ValueError) as error:
                _not_yet(group, error)
                failed += [pointer.key for pointer in group]
            else:
                self._settle_all(group, changes)
                indexed += len(group)
        return IndexedBatch(indexed, tuple(failed))

    def ask_again(self, *, going: Callable[[], bool]) -> None:
        """Retry the texts that an embedder refused (state AGAIN), as long as `going` returns True. Ends if the index is asleep.

        Index and embedder errors are not raised.
        """
        failures = Counter[Embedder | None]()
        for pointer in self.search_outbox.to_ask_again(MOST_REFUSED):
            if not going():
                return
            if self._visibility.pending(pointer):
                continue
            space = self._sources.space_of(pointer)
            if failures[space.embedder] >= MOST_REFUSALS:
                continue
            try:
                changes = self._indexed([pointer])
            except IndexAsleep:
                return
            except (EmbedderFailed, ValueError):
                failures[space.embedder] += 1
            else:
                self._settle_all([pointer], changes)

    def collect_doubles(self) -> None:
        """Once a day, delete the doubles and older copies of the tenant's documents. An index that overwrites has none.

        An index that is asleep is left alone until the next call.
        """
        if not self._visibility.collecting_due():
            return
        try:
            doubles = sum(self._index.collect(space, self._stores.tenant) for space in self._index.spaces())
        except IndexAsleep:
            return
        self._stores.writer.write(self._visibility.collected())
        if doubles:
            logger.info("doubles collected", extra={"copies": doubles})

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
        if not self._counts(pointer):
            self._stores.writer.write(*changes)
            return
        count_change = self._stores.files.count_embedded(pointer.within, len(pointer.ids))
        try:
            self._stores.writer.write(count_change, *changes)
        except ConditionFailed as failure:
            if set(failure.failed) != {0}:
                raise
            self._stores.writer.write(*changes)  # The file is deleted: there is nothing to count.
            return
        self._stores.files.complete(pointer.within)

    def _counts(self, pointer: Pointer) -> bool:
        """Whether the outcome of a pointer is that pieces of a file are embedded. An index that shows late is written once:
        embedded.
        """
        embeds = pointer.state == "EMBED" or (self._visibility.late and pointer.state == "NEW")
        return embeds and pointer.kind == "file" and not pointer.build and not pointer.written

    def _indexed(self, group: Sequence[Pointer]) -> list[list[Change]]:
        """Index a group; returns for each pointer the changes that record its outcome: deleted, marked, or changed to EMBED or
        AGAIN.

        Raises: IndexAsleep, EmbedderFailed (retryable, or for a pointer in the state AGAIN).
        """
        pointer = _joined(group)
        if pointer.written:
            return [self._settling_changes(each) for each in group]
        space = self._sources.space_of(pointer)
        read = self._sources.read(pointer)
        self._remove(pointer, read.gone)
        by_words_first = pointer.state == "NEW" and pointer.kind == "file" and not self._visibility.late
        if by_words_first and space.embedder is not None and read.documents:
            self._index.put(space.name, read.documents)
            self._forget_deleted(pointer, read.documents)
            return [self.search_outbox.worded(each) for each in group]
        following: NextState = "OVER"
        try:
            copies = self._put(group, read.documents, space)
        except EmbedderFailed as error:
            if error.retryable or pointer.state == "AGAIN":
                raise
            self._refusals.refused(space, error)
            copies, following = self._copies(space, read.documents), "AGAIN"
        self._forget_deleted(pointer, read.documents, space, copies)
        return [self._outcome(each, space, copies, following) for each in group]

    def _outcome(self, pointer: Pointer, space: EmbeddingSpace, copies: Mapping[str, str], following: NextState) -> list[Change]:
        if self._visibility.late:
            return self._visibility.mark(pointer, space.name, copies, following)
        return self.search_outbox.refused(pointer) if following == "AGAIN" else [self.search_outbox.forget(pointer)]

    def _settling_changes(self, pointer: Pointer) -> list[Change]:
        """The changes for a pointer whose records every search finds now. What was deleted before they were seen is removed
        now.
        """
        if pointer.state == "GONE":
            self._remove(pointer, pointer.ids)
        return self._visibility.settle(pointer)

    def _forget_deleted(
        self,
        pointer: Pointer,
        documents: Sequence[IndexDocument],
        space: EmbeddingSpace | None = None,
        copies: Mapping[str, str] | None = None,
    ) -> None:
        """Remove the documents whose records were deleted between the read and the write, however long that took.

        A record that is deleted after this check has a pointer younger than the write. Raises: IndexAsleep.
        """
        if not documents:
            return
        deleted = self._sources.gone(pointer)
        self._remove(pointer, deleted)
        if space is not None and copies:
            names = [name_of(pointer.within, record_id) for record_id in deleted]
            self._index.discard(space.name, [copies[name] for name in names if name in copies])

    def _put(self, group: Sequence[Pointer], documents: Sequence[IndexDocument], space: EmbeddingSpace) -> Mapping[str, str]:
        """Write documents, embedded if the space has an embedder; each vector takes in a share of the preceding text's vector,
        and each document names the preceding one. Returns the copy of each document, by name.

        Raises: IndexAsleep, EmbedderFailed.
        """
        if space.embedder is None:
            return self._copies(space, documents)
        names = {document.id for document in documents}
        chain = self._chained(group, documents)
        vectors: dict[str, Vector | None] = {}
        copies: dict[str, str] = {}
        for start in range(0, len(chain), EMBEDDED_AT_ONCE):
            found = self._embedded(space.embedder, chain[start : start + EMBEDDED_AT_ONCE])
            vectors |= {document.id: document.vector for document in found}
            fresh = [in_context(document, vectors.get(document.before)) for document in found if document.id in names]
            copies |= self._copies(space, fresh)
            self._refusals.embedded(space)
        return copies

    def _copies(self, space: EmbeddingSpace, documents: Sequence[IndexDocument]) -> dict[str, str]:
        """Write documents. Returns the copy of each, by name; nothing for an engine that overwrites."""
        return dict(zip((document.id for document in documents), self._index.put(space.name, documents), strict=False))

    def _chained(self, group: Sequence[Pointer], documents: Sequence[IndexDocument]) -> list[IndexDocument]:
        """The documents in the order of their ids, each with the id of the one before it.

        Before a pointer's first document stands the document of the text before that, unless it is one of these documents itself:
        it is embedded for its context and not indexed. The other records of a pointer follow one another.
        """
        within = group[0].within
        ordered = sorted(documents, key=lambda document: document.id)
        record_ids = {place_of(document.id)[1] for document in ordered}
        firsts = [min(found) for pointer in group if (found := record_ids.intersection(pointer.ids))]
        preceding = self._sources.texts_before(_joined(group), firsts) if firsts else {}
        chain: list[IndexDocument] = []
        for document in ordered:
            record_id = place_of(document.id)[1]
            before = chain[-1].id if chain else ""
            if record_id in preceding:
                text = preceding[record_id]
                before = name_of(within, text.id) if text else ""
                if text and not (chain and chain[-1].id == before):
                    chain.append(document.model_copy(update={"id": before, "text": text.text}))
            chain.append(document.model_copy(update={"before": before}))
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

    def _remove(self, pointer: Pointer, ids: Sequence[str]) -> None:
        """Remove deleted records from every space of the index: their place may have another embedder now, or be deleted as well.

        Raises: IndexAsleep.
        """
        if not ids:
            return
        tombstones = index_documents.gone(self._stores.tenant, pointer.within, ids, self._sources.ended_lives(pointer, ids))
        for name in self._index.spaces():
            self._index.remove(name, tombstones)


def by_tenant(items: Iterable[tuple[Key, Item | None]]) -> dict[str, list[tuple[Key, Item | None]]]:
    """The pointer items by tenant, each tenant's in their order; other items are left out."""
    found: dict[str, list[tuple[Key, Item | None]]] = {}
    for key, new in items:
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
        own = pointer.key if pointer.kind == "file" or pointer.state != "NEW" or pointer.written else None
        groups.setdefault((pointer.kind, pointer.place, pointer.within, own), []).append(pointer)
    return [some[at : at + MOST_TOGETHER] for some in groups.values() for at in range(0, len(some), MOST_TOGETHER)]


def _joined(group: Sequence[Pointer]) -> Pointer:
    """A pointer with the ids of all pointers of the group. It serves reads only and is never written."""
    ids = dict.fromkeys(record_id for pointer in group for record_id in pointer.ids)
    return replace(group[0], ids=tuple(ids))


def _not_yet(group: Sequence[Pointer], error: Exception) -> None:
    extra = {"kind": group[0].kind, "pointers": len(group), "reason": type(error).__name__}
    logger.warning("not indexed yet", extra=extra)
