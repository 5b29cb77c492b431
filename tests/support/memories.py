"""Memory and its index over real files: passages of an archive and pieces of a file are written, deleted, indexed and searched.

`hook` is called before and after every call of the table, the index and the embedder. There a test may end a worker (`Killed`),
pause it, or let other workers run first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.memory.file import StoredFile
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.services.search.hybrid_search import HybridSearch, SearchResult, SearchScope
from hibernaut.services.search.index_poll_worker import LOOK, IndexPollWorker
from hibernaut.services.search.reindexing import Reindexing
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import keys
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.run_resources import SearchEngines
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.hashing_embedder import HashingEmbedder, OneEmbedder
from tests.support.late_index import LateMemoryIndex
from tests.support.world import TENANT

ARCHIVE = "archive-00000000-0000-4000-8000-000000000001"
FOLDER = "source-00000000-0000-4000-8000-000000000002"
FILE = "file-00000000-0000-4000-8000-000000000003"
Kind = Literal["passage", "file"]
Hook = Callable[[str], None]


class Killed(BaseException):
    """The worker dies, as a killed process does: nothing after this call happens."""


class Hooked:
    """A wrapper of an engine that calls `hook` with `before put`, `after put` and so on."""

    def __init__(self, engine: object, hook: Hook) -> None:
        self._engine = engine
        self._hook = hook

    def __getattr__(self, name: str) -> object:
        found = getattr(self._engine, name)
        if not callable(found):
            return found

        def call(*values: object, **named: object) -> object:
            self._hook(f"before {name}")
            answer = found(*values, **named)
            self._hook(f"after {name}")
            return answer

        return call


@dataclass
class Memories:
    table: SqliteTable
    index: SqliteMemoryIndex
    all_stores: Stores
    stores: TenantStores
    search: HybridSearch
    clock: ManualClock
    embedding: EmbeddingConfig
    blobs: MemoryBlobs

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)

    def write(self, kind: Kind, *texts: str) -> list[str]:
        """Write the texts in one transaction; returns their ids."""
        passages = [self._passage(kind, text) for text in texts]
        if kind == "passage":
            self.stores.writer.write(*self.stores.passages.add(ARCHIVE, passages))
        else:
            self.stores.writer.write(*self.stores.files.pieces(self._file(), passages))
        return [passage.id for passage in passages]

    def delete(self, kind: Kind, *ids: str) -> None:
        if kind == "passage":
            return self.stores.writer.write(*self.stores.passages.remove(ARCHIVE, ids))
        from hibernaut.ports.storage.table import Delete

        gone = [Delete(keys.piece(TENANT, FILE, one)) for one in ids]
        pointer = self.stores.search_outbox.pointer(FOLDER, "file", ids, within=FILE, gone=True)
        return self.stores.writer.write(*gone, *pointer)

    def found(self, kind: Kind, query: str, *, limit: int = 10) -> SearchResult[Passage]:
        where = SearchScope(kind, (ARCHIVE if kind == "passage" else FOLDER,))
        return self.search.passages(where, query, limit=limit)

    def worker(
        self, hook: Hook = lambda _call: None, storing: Callable[[], bool] = lambda: False, *, look: float = LOOK
    ) -> IndexPollWorker:
        """An index worker as another process has it: it shares the files only."""
        table, index, embedder = Hooked(self.table, hook), Hooked(self.index, hook), Hooked(HashingEmbedder(), hook)
        stores = Stores(table, self.blobs, self.clock, indexed=True)  # type: ignore[arg-type]
        indexing = indexing_of(stores, index, OneEmbedder(embedder))  # type: ignore[arg-type]
        made = IndexPollWorker(stores.outbox, indexing, lambda: [TENANT], storing=storing, look=look)
        self.all_stores.outbox.listener = stores.outbox.listener  # it is notified of writes, as in one process
        return made

    def reindexing(self) -> Reindexing:
        return Reindexing(self.all_stores, self.index)

    def held(self) -> set[tuple[str, int, bool]]:
        """The contents of the index: names, versions, and whether there is a vector."""
        return {(one.id, one.version, one.embedded) for space in self.index.spaces() for one in self.index.states(space, TENANT)}

    def stored(self) -> set[str]:
        """The names of all stored records."""
        passages = {f"{ARCHIVE}/{one}" for one in self.stores.passages.ids(ARCHIVE)}
        return passages | {f"{FILE}/{one}" for one in self.stores.passages.piece_ids([FILE])[0]}

    def agree(self) -> bool:
        return self.held() == {(name, 2, True) for name in self.stored()}

    def close(self) -> None:
        self.index.close()
        self.table.close()

    def _passage(self, kind: Kind, text: str) -> Passage:
        number = next(self._numbers)
        place = {"archive_id": ARCHIVE} if kind == "passage" else {"source_id": FOLDER, "file_id": FILE, "file_name": "notes.txt"}
        return Passage(
            id=f"passage-00000000-0000-4000-8000-{number:012d}",
            text=text,
            created_at=self.clock.now() + timedelta(milliseconds=number),
            **place,
        )

    def _file(self) -> StoredFile:
        now = self.clock.now()
        return StoredFile(
            id=FILE,
            folder_id=FOLDER,
            name="notes.txt",
            original_name="notes.txt",
            media_type="text/plain",
            size=1,
            created_at=now,
            updated_at=now,
        )

    def prepare(self) -> None:
        now = self.clock.now()
        archive = Archive(id=ARCHIVE, name="notes", embedding_config=self.embedding, created_at=now)
        folder = StoredFolder(id=FOLDER, name="papers", embedding_config=self.embedding, created_at=now, updated_at=now)
        self.stores.writer.write(*self.stores.passages.make(archive))
        self.stores.writer.write(*self.stores.folders.create(folder, "folder"))
        self.stores.writer.write(*self.stores.files.create(self._file(), 0, "file"))


def memories(folder: Path, index: LateMemoryIndex | None = None) -> Memories:
    """An archive and a folder with a file, both empty. `index` None: one that shows at once what is written."""
    clock = ManualClock()
    table = SqliteTable(folder / "table.db", now=lambda: clock.now().timestamp())
    index = index or SqliteMemoryIndex(folder / "index.db", now=lambda: clock.now().timestamp())  # type: ignore[assignment]
    blobs = MemoryBlobs(clock)
    all_stores = Stores(table, blobs, clock, indexed=True)
    stores = all_stores.of(TENANT)
    embedders = OneEmbedder()
    embedding = embedders.default()
    assert embedding is not None
    made = Memories(table, index, all_stores, stores, SearchEngines(index, embedders).search(stores), clock, embedding, blobs)
    made.prepare()
    return made
