"""Memory beside an index that shows late what was written, with the feeder that AWS has: the change stream and the schedule."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from hibernaut.ports.storage.table import Key
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.index_stream_worker import IndexStreamWorker
from hibernaut.services.search.indexing import Indexing
from hibernaut.wiring.engines.index_feed import indexing_of
from tests.support.hashing_embedder import HashingEmbedder, OneEmbedder
from tests.support.late_index import LateMemoryIndex
from tests.support.memories import ARCHIVE, Hook, Hooked, Memories, memories
from tests.support.world import TENANT

EVER = timedelta(days=1).total_seconds


class LateMemories:
    """A memory with a feeder over an index that shows late what was written."""

    def __init__(self, folder: Path) -> None:
        self.index = LateMemoryIndex()
        self.memory: Memories = memories(folder, self.index)
        self.embedder = HashingEmbedder()

    def indexing(self, hook: Hook = lambda _call: None) -> PerTenant[Indexing]:
        return indexing_of(self.memory.all_stores, Hooked(self.index, hook), OneEmbedder(self.embedder))  # type: ignore[arg-type]

    def standing(self) -> list[Key]:
        return [pointer.key for pointer in self.memory.stores.search_outbox.everywhere(1000)]

    def delivered(self, hook: Hook = lambda _call: None) -> int:
        """The change stream delivers every pointer that stands. Returns how many are done."""
        batch = self.indexing(hook).of(TENANT).take([(key, {}) for key in self.standing()])
        assert batch.remaining == ()
        return batch.done

    def retaken(self) -> int:
        return IndexStreamWorker(self.indexing(), self.memory.clock).take_again(TENANT, time_left=EVER).done

    def passes(self, seconds: float = 130) -> None:
        """The collection refreshes, and time passes."""
        self.index.refresh()
        self.memory.clock.sleep(seconds)

    def found(self, text: str = "water") -> list[str]:
        found = self.memory.found("passage", text, limit=100)
        assert not found.asleep
        return sorted(hit.record.text for hit in found.hits)

    def tail(self) -> int:
        return len(self.memory.stores.search_outbox.of([ARCHIVE], 1000)[0])
