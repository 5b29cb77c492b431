"""What an embedder refuses is found by its words: a text of its own fault for ever, which costs no other its vector; all texts
while the account is refused, and then they are embedded."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.services.search.index_stream_worker import IndexStreamWorker
from hibernaut.services.search.indexing import MOST_REFUSALS, Indexing
from hibernaut.wiring.engines.index_feed import indexing_of
from tests.support.hashing_embedder import HashingEmbedder, OneEmbedder
from tests.support.memories import FILE, Memories, memories
from tests.support.world import TENANT


@pytest.mark.parametrize(("of_texts", "with_vectors", "most_calls"), [(True, 29, 11), (False, 0, 1)])
def test_a_refused_text_costs_no_other_its_vector(of_texts: bool, with_vectors: int, most_calls: int, tmp_path: Path) -> None:
    memory = memories(tmp_path)
    refuses = EmbedderFailed("refused", retryable=False, of_texts=of_texts)
    embedder = HashingEmbedder(refuses=refuses, only="poison" if of_texts else "")
    indexing = _indexing(memory, embedder)
    memory.write("passage", *(f"passage {number} {'poison' if number == 7 else 'water'}" for number in range(30)))
    assert IndexPollWorker(memory.all_stores.outbox, indexing, lambda: [TENANT]).drain()
    assert sum(embedded for _, _, embedded in memory.held()) == with_vectors
    assert len(memory.held()) == 30
    assert embedder.asked <= most_calls
    assert [hit.record.text for hit in memory.found("passage", "poison").hits][:1] == ["passage 7 poison"]
    memory.close()


REFUSED = EmbedderFailed("test: refused with status 401", retryable=False)
EVER = timedelta(days=1).total_seconds


def _indexing(memory: Memories, embedder: HashingEmbedder) -> PerTenant[Indexing]:
    return indexing_of(memory.all_stores, memory.index, OneEmbedder(embedder))


def _refused(memory: Memories) -> int:
    return len(memory.stores.search_outbox.to_ask_again(100))


def test_what_an_account_refuses_is_found_by_words_and_embedded_when_it_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memories(tmp_path)
    embedder = HashingEmbedder(refuses=REFUSED)
    indexing = _indexing(memory, embedder)
    memory.write("passage", *(f"passage {number}" for number in range(20)))
    memory.write("file", *(f"piece {number}" for number in range(20)))
    memory.reindexing().begin([TENANT], lambda _progress: None)
    assert IndexPollWorker(memory.all_stores.outbox, indexing, lambda: [TENANT]).drain()
    assert {embedded for _, _, embedded in memory.held()} == {False}
    file = memory.stores.files.taken(FILE)
    assert file is not None
    assert (file.file.embedded, memory.stores.files.unindexed(file.file)) == (20, False), "nobody waits for the vectors"
    assert memory.reindexing().of(TENANT).end()
    assert memory.stores.search_outbox.waiting() == 0
    said = [record for record in caplog.records if record.message.startswith("embedding refused")]
    assert [getattr(record, "reason", "") for record in said] == ["test: refused with status 401"], "once"

    asked, standing = embedder.asked, _refused(memory)
    indexing.of(TENANT).ask_again(going=lambda: True)
    assert (embedder.asked, _refused(memory)) == (asked + MOST_REFUSALS, standing)
    embedder.refuses = None
    indexing.of(TENANT).ask_again(going=lambda: True)
    assert (_refused(memory), memory.agree()) == (0, True)
    memory.close()


def test_the_pump_asks_again_by_itself_when_it_starts(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    memory.write("passage", "refused by an account")
    assert IndexPollWorker(
        memory.all_stores.outbox, _indexing(memory, HashingEmbedder(refuses=REFUSED)), lambda: [TENANT]
    ).drain()
    done = threading.Event()
    pump = memory.worker(lambda call: done.set() if call == "after put" else None)
    pump.start()
    assert done.wait(60)
    pump.close()
    assert (_refused(memory), memory.agree()) == (0, True)
    memory.close()


def test_the_stream_is_not_held_up_by_what_is_refused_and_the_clock_asks_again(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    embedder = HashingEmbedder(refuses=REFUSED)
    feeding = IndexStreamWorker(_indexing(memory, embedder), memory.clock)
    memory.write("passage", "refused by an account")
    for _ in range(2):
        told = [(pointer.key, {}) for pointer in memory.stores.search_outbox.everywhere(10)]
        assert told
        assert feeding.take(told, time_left=EVER).remaining == ()
    assert embedder.asked == 1
    embedder.refuses = None
    feeding.take_again(TENANT, time_left=lambda: 0.0)
    assert _refused(memory) == 1, "there was no time"
    feeding.take_again(TENANT, time_left=EVER)
    assert (_refused(memory), memory.agree()) == (0, True)
    memory.close()
