"""What the index workers of a process read of the table: nothing for what is handed over, everything after a loss."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.services.search import index_poll_worker, pointer_queue
from hibernaut.services.search.pointer_queue import PointerQueue
from hibernaut.store.memory.search_outbox import Pointer, SearchOutbox
from tests.support.memories import ARCHIVE, Memories, memories


class Scanned(PointerQueue):
    """A queue that follows what a memory writes, and counts its scans of the table."""

    def __init__(self, memory: Memories) -> None:
        self.scans = 0
        self.everywhere_of = memory.stores.search_outbox.everywhere
        super().__init__(lambda: [self])  # type: ignore[list-item]
        memory.all_stores.outbox.listener = self.hand

    def everywhere(self, limit: int) -> list[Pointer]:
        self.scans += 1
        return self.everywhere_of(limit)


def texts(memory: Memories, batch: list[Pointer]) -> list[str]:
    found = memory.stores.passages.get_many(ARCHIVE, [one for pointer in batch for one in pointer.ids])
    return [passage.text for passage in found]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memories]:
    made = memories(tmp_path)
    yield made
    made.close()


def test_what_is_handed_over_is_taken_together_without_a_look_at_the_table(memory: Memories) -> None:
    queue = Scanned(memory)
    assert queue.next(vectors=True) == []
    assert queue.scans == 1, "at the start"
    for number in range(20):
        memory.write("passage", f"text {number}")
    batch = queue.next(vectors=True)
    assert texts(memory, batch) == [f"text {number}" for number in reversed(range(20))], "the newest first"
    assert queue.next(vectors=True) == [], "nobody else gets them"
    queue.settle(batch, [])
    assert queue.next(vectors=True) == []
    assert queue.scans == 1


def test_a_batch_ends_before_it_names_too_many_records(memory: Memories) -> None:
    queue = Scanned(memory)
    memory.write("passage", *(f"long {number}" for number in range(pointer_queue.RECORDS_TOGETHER + 8)))
    memory.write("passage", *(f"half {number}" for number in range(pointer_queue.RECORDS_TOGETHER // 2 + 1)))
    memory.write("passage", *(f"last {number}" for number in range(pointer_queue.RECORDS_TOGETHER // 2)))
    sizes = [[len(pointer.ids) for pointer in queue.next(vectors=True)] for _ in range(4)]
    assert sizes == [[16], [17], [40], []]


def test_an_overflow_loses_nothing(memory: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointer_queue, "MOST_WAITING", 10)
    monkeypatch.setattr(pointer_queue, "PAGE", 4)
    queue = Scanned(memory)
    assert queue.next(vectors=True) == []
    for number in range(25):
        memory.write("passage", f"text {number}")
    seen: list[str] = []
    while batch := queue.next(vectors=True):
        seen += texts(memory, batch)
        memory.stores.writer.write(*(memory.stores.search_outbox.forget(pointer) for pointer in batch))
        queue.settle(batch, [])
    assert sorted(seen) == sorted(f"text {number}" for number in range(25))
    assert len(seen) == len(set(seen))


def test_what_failed_stands_behind_all_others_and_is_then_alone(memory: Memories) -> None:
    queue = Scanned(memory)
    for number in range(3):
        memory.write("passage", f"fails {number}")
    first = queue.next(vectors=True)
    assert len(first) == 3
    queue.settle(first, [pointer.key for pointer in first])
    memory.write("passage", "new")
    assert texts(memory, queue.next(vectors=True)) == ["new"]
    assert queue.next(vectors=True) == [], "the others may still succeed"
    assert [len(queue.next(vectors=True)) for _ in range(3)] == [1, 1, 1], "one by one, so that none fails another again"


def test_a_scan_that_fails_is_made_again(memory: Memories) -> None:
    queue = Scanned(memory)
    memory.write("passage", "written by somebody else")
    queue._waiting.clear()
    works = queue.everywhere_of
    queue.everywhere_of = lambda _limit: (_ for _ in ()).throw(OSError("no disk"))
    with pytest.raises(OSError, match="no disk"):
        queue.next(vectors=True)
    queue.everywhere_of = works
    assert texts(memory, queue.next(vectors=True)) == ["written by somebody else"]


def test_the_table_is_scanned_now_and_then_although_writers_never_pause(
    memory: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointer_queue, "BATCHES_BEFORE_LOOK", 5)
    queue = Scanned(memory)
    assert queue.next(vectors=True) == []
    for number in range(20):
        memory.write("passage", f"text {number}")
        batch = queue.next(vectors=True)
        memory.stores.writer.write(*(memory.stores.search_outbox.forget(pointer) for pointer in batch))
        queue.settle(batch, [])
        assert queue.next(vectors=True) == []
    assert queue.scans == 1 + 20 // 5


class Watched(threading.Condition):
    """`entered` is set when a thread waits for a predicate: it gathers."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> object:  # type: ignore[override]
        self.entered.set()
        return super().wait_for(predicate, timeout)


def test_while_one_thread_gathers_nobody_else_is_woken_and_it_gets_all(memory: Memories) -> None:
    queue = Scanned(memory)
    watched = queue._changed = Watched()
    assert queue.next(vectors=True) == []
    memory.write("passage", "first")
    got: list[str] = []

    def gather() -> None:
        queue.wait(60.0, 60.0)
        got.extend(texts(memory, queue.next(vectors=True)))

    thread = threading.Thread(target=gather)
    thread.start()
    assert watched.entered.wait(60)
    memory.write("passage", "second")
    assert queue.next(vectors=True) == []
    memory.write("passage", "third")
    assert not queue.news
    queue.close()
    thread.join(60)
    assert got == ["third", "second", "first"]


def test_a_running_worker_reads_only_what_it_indexes(memory: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    scans, done, started = Counter[str](), threading.Event(), threading.Event()
    everywhere = SearchOutbox._everywhere

    def counted(self: SearchOutbox, limit: int, prefix: str) -> list[Pointer]:
        scans[prefix] += 1
        if prefix:
            started.set()
        return everywhere(self, limit, prefix)

    def hook(call: str) -> None:
        if call == "after write" and memory.stores.search_outbox.waiting() == 0 and written.is_set():
            done.set()

    monkeypatch.setattr(SearchOutbox, "_everywhere", counted)
    written = threading.Event()
    pump = memory.worker(hook, look=600.0)
    pump.start()
    assert started.wait(60), "it asks for what was refused when there is nothing else"
    for number in range(5):
        if number == 4:
            written.set()
        memory.write("passage", f"text {number}")
    assert done.wait(60)
    pump.close()
    assert memory.agree()
    assert scans == {"": 1, "AGAIN#": 1}, "once at the start, and no more"


def test_a_failure_of_one_time_leaves_nothing_behind(memory: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_poll_worker, "REST", 0.0)
    failed, indexed = threading.Event(), threading.Event()

    def hook(call: str) -> None:
        if call == "before embed" and not failed.is_set():
            failed.set()
            raise EmbedderFailed("out of reach", retryable=True)
        if call == "after write" and memory.stores.search_outbox.waiting() == 0:
            indexed.set()

    for number in range(6):
        memory.write("passage", f"text {number}")
    pump = memory.worker(hook)
    pump.start()
    assert indexed.wait(60)
    pump.close()
    assert memory.agree()
