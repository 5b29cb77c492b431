"""What a search asks the table: it waits as often for a hundred archives as for ten, and without an index once for sixteen
places.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from math import ceil
from pathlib import Path

import pytest

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.memory.file import FileStatus, StoredFile
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.schemas.memory.search_index import Kind
from hibernaut.schemas.messages.message import Message
from hibernaut.services.search.hybrid_search import SearchScope
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.run_resources import SearchEngines
from tests.support.clocks import ManualClock
from tests.support.hashing_embedder import OneEmbedder
from tests.support.memories import Hooked
from tests.support.world import TENANT, MemoryBlobs

FOLDER = "source-00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("archives", [10, 100])
def test_a_search_of_many_archives_reads_their_records_at_once(tmp_path: Path, archives: int) -> None:
    calls = Counter[str]()
    clock = ManualClock()
    table = SqliteTable(tmp_path / "table.db", now=lambda: clock.now().timestamp())
    hooked = Hooked(table, lambda call: calls.update([call]))
    all_stores = Stores(hooked, MemoryBlobs(), clock, indexed=True)  # type: ignore[arg-type]
    stores = all_stores.of(TENANT)
    index, embedders = SqliteMemoryIndex(tmp_path / "index.db"), OneEmbedder()
    places = [f"archive-00000000-0000-4000-8000-{number:012d}" for number in range(archives)]
    for number, place in enumerate(places):
        made = Archive(id=place, name=place, embedding_config=embedders.default(), created_at=clock.now())
        stores.writer.write(*stores.passages.make(made))
        passage = Passage(
            id=f"passage-00000000-0000-4000-8000-{number:012d}",
            text=f"the harbour of Bergen, seen from window {number}",
            archive_id=place,
            created_at=clock.now() + timedelta(seconds=number),
        )
        stores.writer.write(*stores.passages.add(place, [passage]))
    IndexPollWorker(all_stores.outbox, indexing_of(all_stores, index, embedders), lambda: [TENANT]).drain()
    calls.clear()
    found = (
        SearchEngines(index, embedders)
        .search(stores)
        .passages(SearchScope("passage", tuple(places)), "harbour of Bergen", limit=5)
    )
    assert len(found.hits) == 5
    assert calls["before get"] <= 2, "is an index being built, before and after"
    assert calls["before get_many"] <= 1 + 5, "all archives' records, and one for each place of a hit"
    assert calls["before query"] == 0
    assert calls["before query_many"] == 1, "the pointers of all archives, each in a partition of its own"
    index.close()
    table.close()


@pytest.mark.parametrize("number", [10, 100])
@pytest.mark.parametrize("kind", ["passage", "file", "message"])
def test_a_search_without_an_index_reads_sixteen_places_at_once(tmp_path: Path, kind: Kind, number: int) -> None:
    calls = Counter[str]()
    clock = ManualClock()
    table = SqliteTable(tmp_path / "table.db", now=lambda: clock.now().timestamp())
    stores = Stores(Hooked(table, lambda call: calls.update([call])), MemoryBlobs(), clock).of(TENANT)  # type: ignore[arg-type]
    places = [filled(stores, clock, kind, one) for one in range(number)]
    calls.clear()
    search = SearchEngines().search(stores)
    where = SearchScope(kind, (FOLDER,) if kind == "file" else tuple(places))
    find = search.messages if kind == "message" else search.passages
    found = find(where, "harbour of Bergen", limit=5)
    assert len(found.hits) == 5
    assert calls["before query_many"] == ceil(number / 16)
    assert calls["before query"] == (1 if kind == "file" else 0), "the list of a folder's files"
    table.close()


def filled(stores: TenantStores, clock: ManualClock, kind: Kind, number: int) -> str:
    """Write a text about Bergen to a place of its own; returns the place."""
    uuid, text = f"00000000-0000-4000-8000-{number:012d}", f"the harbour of Bergen, seen from window {number}"
    if kind == "message":
        agent_id = f"agent-{uuid}"
        row = Message(
            id=f"message-{uuid}", role="user", content=[TextContent(text=text)], agent_id=agent_id, created_at=clock.now()
        )
        stores.writer.write(stores.conversations.put_message(agent_id, row))
        return agent_id
    passage = Passage(id=f"passage-{uuid}", text=text, created_at=clock.now())
    if kind == "passage":
        made = Archive(id=f"archive-{uuid}", name="notes", created_at=clock.now())
        stores.writer.write(*stores.passages.make(made), *stores.passages.add(made.id, [passage]))
        return made.id
    file = StoredFile(
        id=f"file-{uuid}",
        folder_id=FOLDER,
        name=f"{number}.txt",
        original_name=f"{number}.txt",
        media_type="text/plain",
        size=1,
        status=FileStatus.COMPLETED,
        readable=True,
        created_at=clock.now(),
        updated_at=clock.now(),
    )
    stores.writer.write(*stores.files.create(file, 0, "t"), *stores.files.pieces(file, [passage]))
    return file.id
