"""Texts that an embedder refuses: they are found by their words, and cost no other its vector."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.embedder import EmbedderFailed
from hibernaut.services.index_pump import IndexPump
from hibernaut.services.indexing import Indexing
from hibernaut.services.memory_sources import MemorySources
from tests.support.hashing_embedder import HashingEmbedder, OneEmbedder
from tests.support.memories import memories
from tests.support.world import TENANT


@pytest.mark.parametrize(("of_texts", "with_vectors", "most_calls"), [(True, 29, 11), (False, 0, 1)])
def test_a_refused_text_costs_no_other_its_vector(of_texts: bool, with_vectors: int, most_calls: int, tmp_path: Path) -> None:
    memory = memories(tmp_path)
    refuses = EmbedderFailed("refused", retryable=False, of_texts=of_texts)
    embedder = HashingEmbedder(refuses=refuses, only="poison" if of_texts else "")
    indexing = Indexing(memory.table, memory.stores, memory.index, MemorySources(memory.stores, OneEmbedder(embedder)))
    memory.write("passage", *(f"passage {number} {'poison' if number == 7 else 'water'}" for number in range(30)))
    assert IndexPump(memory.stores.unindexed, indexing, [TENANT]).drain()
    assert sum(embedded for _, _, embedded in memory.held()) == with_vectors
    assert len(memory.held()) == 30
    assert embedder.asked <= most_calls
    assert [hit.record.text for hit in memory.found("passage", "poison").hits][:1] == ["passage 7 poison"]
    memory.close()
