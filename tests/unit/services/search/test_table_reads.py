"""What a search asks the table: it waits as often for a hundred archives as for ten."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.services.search.hybrid_search import SearchScope
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.store.stores import Stores
from hibernaut.wiring.index_feed import indexing_of
from hibernaut.wiring.run_engine import SearchEngines
from tests.support.clocks import ManualClock
from tests.support.hashing_embedder import OneEmbedder
from tests.support.memories import Hooked
from tests.support.world import TENANT, MemoryBlobs


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
