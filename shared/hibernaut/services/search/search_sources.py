"""The sources of the index: the current records behind pointers and documents, and the embedder of each place."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from hibernaut.domain.search import index_documents
from hibernaut.ports.memory.embedder import Embedder, Embedders
from hibernaut.ports.memory.memory_index import WORDS
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.search_index import IndexDocument, Kind
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.store.memory.search_outbox import Pointer
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.lists.logs import IdRange

Record = Message | Passage
JUST_BEFORE = 2
"""Rows of a log before a message that the first read takes. In a conversation without tool calls one of them is the preceding
text."""
LOOK_BACK = 8
"""The most rows of a log that are searched for the text before a message. Tool calls and returns may lie between."""
MOST_PLACES_READ = 4
"""A search without an index reads at most this many times the limit of one place, over all places."""
logger = logging.getLogger(__name__)


class NoEmbedders:
    """The catalogue without any embedder: memory is searched by words only."""

    def of(self, config: EmbeddingConfig | None) -> None:  # noqa: ARG002  the port names it
        return None

    def default(self) -> None:
        return None


@immutable
class EmbeddingSpace:
    """The embedding space that holds the documents of a place, and its embedder (None: the documents are found by words only)."""

    name: str
    embedder: Embedder | None


@immutable
class SourceDocuments:
    """The documents of the records that a pointer names, and the ids without a record (deleted or never written)."""

    documents: list[IndexDocument]
    gone: list[str]


@immutable
class Preceding:
    """The searchable text that stands before a record in its log, archive or file, and the id of its record."""

    id: str
    text: str


class SearchSources:
    """Reads the records behind index documents and pointers."""

    def __init__(self, stores: TenantStores, embedders: Embedders) -> None:
        self._stores = stores
        self._embedders = embedders

    def default(self) -> EmbeddingSpace:
        """The space of all message logs: that of the default embedder."""
        return self._space(self._embedders.default())

    def space_of(self, pointer: Pointer) -> EmbeddingSpace:
        """The space of the pointer's archive, folder or agent. A deleted archive or folder has no embedding configuration of its
        own.
        """
        return self._spaces(pointer.kind, [pointer.place])[pointer.place]

    def spaces_of(self, kind: Kind, places: Sequence[str] | None) -> list[tuple[EmbeddingSpace, Sequence[str] | None]]:
        """The spaces of these places (None: of all places of the tenant), each with its places."""
        if kind == "message" or places is None:
            everywhere = [self.default()] if kind == "message" else self._everywhere(kind)
            return [(space, places) for space in everywhere]
        found: dict[str, tuple[EmbeddingSpace, list[str]]] = {}
        for place, space in self._spaces(kind, places).items():
            found.setdefault(space.name, (space, []))[1].append(place)
        return list(found.values())

    def _everywhere(self, kind: Kind) -> list[EmbeddingSpace]:
        """The distinct spaces of all archives of the tenant, or of all its folders, with the default space first."""
        archives, folders = self._stores.passages.archives, self._stores.folders.rows
        places = archives() if kind == "passage" else [str(row["sk"]) for row in folders()]
        spaces = [self.default(), *self._spaces(kind, places).values()]
        return list({space.name: space for space in spaces}.values())

    def _spaces(self, kind: Kind, places: Sequence[str]) -> dict[str, EmbeddingSpace]:
        """The space of each place. Reads the records of all places in one batch."""
        if kind == "message":
            return dict.fromkeys(places, self.default())
        records = self._stores.passages.archive_records if kind == "passage" else self._stores.folders.get_many
        configs = {place: record.embedding_config for place, record in records(places).items()}
        return {place: self._space(configs.get(place)) for place in places}

    def _space(self, config: EmbeddingConfig | None) -> EmbeddingSpace:
        embedder = self._embedders.of(config)
        return EmbeddingSpace(embedder.space, embedder) if embedder else EmbeddingSpace(WORDS, None)

    def read(self, pointer: Pointer) -> SourceDocuments:
        """The current documents of the records that a pointer names. A record whose blob is missing has none, delays no other
        one, and is logged: nobody can read it, and once its blob is restored a reindex finds it.
        """
        records, unreadable = self._readable(pointer.kind, pointer.within, pointer.ids)
        documents = [self.document(pointer.place, pointer.within, record) for record in records.values()]
        deleted = [record_id for record_id in pointer.ids if record_id not in records and record_id not in unreadable]
        return SourceDocuments([document for document in documents if document is not None], deleted)

    def texts_before(self, pointer: Pointer, record_ids: Sequence[str]) -> dict[str, Preceding | None]:
        """What precedes each of these records in its log, archive or file; None if there is nothing within the search
        limit, or if its blob is missing: the loss of one record keeps its neighbours findable.
        """
        if pointer.kind == "message" and len(record_ids) > 1:
            with suppress(KeyError):
                return self._texts_before_all(pointer, record_ids)
        found: dict[str, Preceding | None] = dict.fromkeys(record_ids)
        for record_id in record_ids:
            with suppress(KeyError):
                found[record_id] = self._text_before(pointer, record_id)
        return found

    def _texts_before_all(self, pointer: Pointer, record_ids: Sequence[str]) -> dict[str, Preceding | None]:
        ordered = sorted(record_ids)
        # Rows that are indexed together mostly stand together: one read of the newest rows shows what is before each of them.
        preceding_texts, complete = self._said_before(pointer, ordered[-1], LOOK_BACK + 2 * (len(ordered) - 1))
        found: dict[str, Preceding | None] = {}
        for record_id in ordered:
            preceding = next((each for each in preceding_texts if each.id < record_id), None)
            found[record_id] = preceding if preceding or complete else self._text_before(pointer, record_id)
        return found

    def _text_before(self, pointer: Pointer, record_id: str) -> Preceding | None:
        within = pointer.within
        if pointer.kind == "message":
            for limit in (JUST_BEFORE, LOOK_BACK):
                texts, complete = self._said_before(pointer, record_id, limit)
                if texts or complete:
                    return texts[0] if texts else None
            return None
        before = self._stores.passages.before if pointer.kind == "passage" else self._stores.passages.piece_before
        found = before(within, record_id)
        return Preceding(found.id, found.text) if found else None

    def _said_before(self, pointer: Pointer, record_id: str, limit: int) -> tuple[list[Preceding], bool]:
        """The messages in the last `limit` rows before a record that have a text, newest first; True: the log has no earlier
        rows.
        """
        span = IdRange(None, record_id)
        rows = self._stores.conversations.logs.rows(pointer.within, (), span, limit=limit, descending=True)
        texts = [Preceding(row.id, text) for row in rows if (text := index_documents.searchable_text(row)) is not None]
        return texts, len(rows) < limit

    def ended_lives(self, pointer: Pointer, ids: Sequence[str]) -> dict[str, int]:
        """The lives of deleted passages that ended, by id; those of other records are their first and only ones."""
        if pointer.kind != "passage":
            return {}
        lives = self._stores.passages.ended_lives(pointer.within, ids)
        return {one: index_documents.LAST_LIFE if life is None else life for one, life in lives.items()}

    def gone(self, pointer: Pointer) -> list[str]:
        """The ids without a record, as in `read`, without building the documents of the others."""
        existing = self._existing(pointer)
        return [record_id for record_id in pointer.ids if record_id not in existing]

    def _existing(self, pointer: Pointer) -> Collection[str]:
        within, ids = pointer.within, pointer.ids
        match pointer.kind:
            case "message":
                existing = self._stores.conversations.logs.existing(within, ids)
                missing = [one for one in ids if one not in existing]
                return existing.union(*self._readable("message", within, missing)) if missing else existing
            case "passage":
                return self._stores.passages.existing(within, ids)
            case "file":
                return self._stores.passages.existing_pieces(within, ids)

    def records(self, kind: Kind, within: str, ids: Sequence[str]) -> Mapping[str, Record]:
        """The existing records among these ids, by id. `within`: the id of a log, an archive or a file."""
        match kind:
            case "message":
                return {row.id: row for row in self._stores.conversations.messages(within, ids)}
            case "passage":
                return {passage.id: passage for passage in self._stores.passages.get_many(within, ids)}
            case "file":
                return {passage.id: passage for passage in self._stores.passages.pieces(within, ids)}

    def _readable(self, kind: Kind, within: str, ids: Sequence[str]) -> tuple[Mapping[str, Record], Collection[str]]:
        """The existing records among these ids, by id, and the ids of those whose blob is missing."""
        with suppress(KeyError):
            return self.records(kind, within, ids), ()
        found: dict[str, Record] = {}
        unreadable: list[str] = []
        for one in ids:
            try:
                found |= self.records(kind, within, [one])
            except KeyError:
                unreadable.append(one)
                logger.error("record without its blob", extra={"kind": kind, "within": within, "id": one})
        return found, unreadable

    def document(self, place: str, within: str, record: Record) -> IndexDocument | None:
        """The index document of a record; None if the record is not searchable."""
        if isinstance(record, Message):
            return index_documents.of_message(self._stores.tenant, within, record)
        return index_documents.of_passage(self._stores.tenant, place, within, record)

    def newest(
        self, kind: Kind, places: Sequence[str] | None, limit: int
    ) -> tuple[list[tuple[Record, IndexDocument | None]], bool]:
        """The newest records of places with their documents, at most `limit` per place, for a search without an index.

        The flag tells whether there are more records. All places together yield about `MOST_PLACES_READ` times the limit.
        """
        found: list[tuple[Record, IndexDocument | None]] = []
        cut = False
        for place, within, records in self._walk(kind, places, limit + 1):
            if len(found) >= MOST_PLACES_READ * limit:
                return found, True
            cut = cut or len(records) > limit
            found += [(record, self.document(place, within or _log_of(record), record)) for record in records[:limit]]
        return found, cut

    def _walk(self, kind: Kind, places: Sequence[str] | None, limit: int) -> Iterator[tuple[str, str, Sequence[Record]]]:
        """Yields the place, the container of its records ("": each record names its own log), and its newest records."""
        if kind == "message":
            agents = places if places is not None else [str(row["sk"]) for row in self._stores.agents.rows()]
            for place, messages in zip(agents, self._stores.agent_logs.newest(agents, limit), strict=True):
                yield place, "", messages
            return
        if kind == "file":
            for place in places if places is not None else [str(row["sk"]) for row in self._stores.folders.rows()]:
                files = [file.file_id for file in reversed(self._stores.files.rows(place))]
                for file_id, pieces in zip(files, self._stores.passages.first_pieces(files, limit), strict=True):
                    yield place, file_id, pieces
            return
        archives = places if places is not None else self._stores.passages.archives()
        for place, passages in zip(archives, self._stores.passages.newest(archives, limit), strict=True):
            yield place, place, passages


def _log_of(record: Record) -> str:
    return (record.conversation_id or record.agent_id) if isinstance(record, Message) else ""
