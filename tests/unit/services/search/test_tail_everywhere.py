"""A search of everything that a tenant has looks at the newest things of the kind it searches, whatever else is new."""

from __future__ import annotations

from pathlib import Path

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.services.search.hybrid_search import TAIL, SearchScope
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.wiring.run_resources import SearchEngines
from tests.support.memories import memories
from tests.support.scripted_model import in_turn, says
from tests.support.world import World, data_in


def test_pieces_of_files_that_wait_for_the_index_do_not_hide_what_was_said(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("done"))), indexed=True)
    index = SqliteMemoryIndex(tmp_path / "index.db")
    search = SearchEngines(index, NoEmbedders()).search(world.stores)
    world.send(world.make_agent(), "the key lies in the cellar")
    for number in range(TAIL + 1):
        ids = [f"passage-00000000-0000-4000-8000-{number:012d}"]
        world.stores.writer.write(*world.stores.search_outbox.pointer("source-1", "file", ids, within="file-1"))
    found = search.messages(SearchScope("message", None), "key cellar")
    assert [hit.record.text() for hit in found.hits] == ["the key lies in the cellar"]
    assert not found.incomplete
    index.close()


def test_a_new_passage_is_found_where_everything_is_searched(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    memory.write("passage", "the harbour of Bergen")
    hits = memory.search.passages(SearchScope("passage", None), "harbour").hits
    assert [hit.record.text for hit in hits] == ["the harbour of Bergen"]
    memory.close()
