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
from dataclasses import dataclass, replace

from hibernaut.domain.search import index_documents
from hibernaut.domain.search.index_documents import in_context, place_of
from hibernaut.ports.embedder import Embedder, EmbedderFailed, Vector
from hibernaut.ports.memory_index import IndexAsleep, MemoryIndex
from hibernaut.ports.table import Change, ConditionFailed, Item, Key
from hibernaut.schemas.search import IndexDocument
from hibernaut.services.search.search_sources import EmbeddingSpace, SearchSources
from hibernaut.store import keys
from hibernaut.store.search_outbox import Pointer
from hibernaut.store.stores import TenantStores

EMBEDDED_AT_ONCE = 32
"""Texts that are embedded together; between them others get their turn."""
MOST_TOGETHER = 32
"""Pointers that are indexed together at most; one transaction takes them away."""
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


class EmbedderRefusals:
    """The spaces whose embedder refuses, for whichever tenant. Each is logged once, until it embeds again."""

    def __init__(self) -> None:
        self._spaces: set[str] = set()

    def refused(self, space: EmbeddingSpace, error: EmbedderFailed) -> None:
        """The embedder of this space refused."""
        if space.name not in self._spaces:
            self._spaces.add(space.name)
            extra = {"space": space.name, "reason": str(error)}
            logger.error("embedding refused, memory is found by words until it works again", extra=extra)

    def embedded(self, space: EmbeddingSpace) -> None:
        """The embedder of this space works."""
        self._spaces.discard(space.name)


class Indexing:
    """Writes to the index what the pointers of one tenant name. `unindexed` holds them; all tenants share the `refusals`."""

    def __init__(self, stores: TenantStores, index: MemoryIndex, sources: SearchSources, refusals: EmbedderRefusals) -> None:
        self.unindexed = stores.unindexed
        self._stores = stores
        self._index = index
        self._sources = sources
        self._refusals = refusals

    def take(self, told: Iterable[tuple[Key, Item | None]]) -> IndexedBatch:
        """Index what these items of the change stream point to; anything but a pointer that still stands is passed over, and what was
        refused.

        Where the index sleeps, the rest is not tried. Raises: nothing of the index's or the embedder's.
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
        """Embed what was refused, where nobody refuses any more, as long as it is `going`. Raises: nothing of the index's or the
        embedder's."""
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
        """Write what follows of each pointer, together if nobody has touched any of them meanwhile."""
        if len(group) > 1:
            with suppress(ConditionFailed):
                return self._stores.writer.write(*(change for some in changes for change in some))
        for pointer, some in zip(group, changes, strict=True):
            with suppress(ConditionFailed):  # another worker was faster, or it was written anew: then it stays
                self._settle(pointer, some)
        return None

    def _settle(self, pointer: Pointer, changes: Sequence[Change]) -> None:
        """Write what follows, and count with it what was embedded of a file, so that nothing is counted twice or not at all: by the
        pointers that were written with its pieces, not by those of an index that is built anew. Raises: ConditionFailed.
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
        """What is written of each pointer when the index knows: it is done with, or leaves only the embedding to be done.

        Raises: IndexAsleep, EmbedderFailed.
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
        """Take away again what was deleted between its reading and its writing, however long that took. What is deleted after this
        look has a pointer that is younger than the writing. Raises: IndexAsleep."""
        if written:
            self.remove(pointer.within, self._sources.gone(pointer))

    def _put(self, group: Sequence[Pointer], documents: Sequence[IndexDocument], space: EmbeddingSpace) -> None:
        """Write documents, embedded where somebody can, each with a little of what stands before it.

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
        """In the order in which they stand. Where a pointer's first document does not stand right behind another one here, the text
        before it comes first, which has no id here and is embedded with them."""
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

    def remove(self, within: str, ids: Sequence[str]) -> None:
        """Let the index forget records that are gone, in every space: what made their vectors may be another now, or gone as well.

        Raises: IndexAsleep.
        """
        for name in self._index.spaces() if ids else ():
            self._index.remove(name, index_documents.gone(self._stores.tenant, within, ids))


def by_tenant(told: Iterable[tuple[Key, Item | None]]) -> dict[str, list[tuple[Key, Item | None]]]:
    """The items of pointers among these by their tenants, those of each in their order."""
    found: dict[str, list[tuple[Key, Item | None]]] = {}
    for key, new in told:
        if keys.is_unindexed(key):
            found.setdefault(keys.tenant_of(key.pk), []).append((key, new))
    return found


def _groups(pointers: Iterable[Pointer]) -> list[list[Pointer]]:
    """Pointers that are indexed together, in the order of their first: what is new of one log or one archive. Pieces of files have
    pointers that name many, and are counted one pointer at a time."""
    groups: dict[tuple[object, ...], list[Pointer]] = {}
    for pointer in pointers:
        own = pointer.key if pointer.kind == "file" or pointer.state != "NEW" else None
        groups.setdefault((pointer.kind, pointer.place, pointer.within, own), []).append(pointer)
    return [some[at : at + MOST_TOGETHER] for some in groups.values() for at in range(0, len(some), MOST_TOGETHER)]


def _joined(group: Sequence[Pointer]) -> Pointer:
    """One that names all that these name: for reading, not for writing."""
    ids = dict.fromkeys(record_id for pointer in group for record_id in pointer.ids)
    return replace(group[0], ids=tuple(ids))


def _not_yet(group: Sequence[Pointer], error: Exception) -> None:
    extra = {"kind": group[0].kind, "pointers": len(group), "reason": type(error).__name__}
    logger.warning("not indexed yet", extra=extra)
