"""What the pump does first, and what it does after something went wrong."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.services.search import index_poll_worker, pointer_queue
from hibernaut.store.memory.search_outbox import EMBEDDED_TOGETHER
from tests.support.memories import ARCHIVE, FILE, memories


def test_what_is_new_does_not_wait_behind_pieces_that_only_lack_vectors(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    for number in range(3):
        memory.write("file", f"piece {number}")
    known: list[set[tuple[str, int, bool]]] = []

    def hook(call: str) -> None:
        if call == "before embed":
            known.append(memory.held())
            if len(known) == 1:
                memory.write("passage", "said while a file is embedded")

    assert memory.worker(hook).drain()
    words = {(f"{FILE}/passage-00000000-0000-4000-8000-{number:012d}", 1, False) for number in (1, 2, 3)}
    passage = (f"{ARCHIVE}/passage-00000000-0000-4000-8000-000000000004", 2, True)
    assert known[0] == words, "all pieces are found by their words before the first is embedded"
    assert passage in known[2], "it was embedded right after the piece that was at hand"
    assert len(known) == 4
    assert memory.agree()
    assert memory.stores.search_outbox.waiting() == 0
    memory.close()


def test_vectors_wait_while_uploads_are_stored_and_words_do_not(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    memory.write("file", *(f"piece {number}" for number in range(2 * EMBEDDED_TOGETHER + 1)))
    uploads = [True]
    pump = memory.worker(storing=lambda: bool(uploads))
    assert pump.drain()
    assert {(version, embedded) for _, version, embedded in memory.held()} == {(1, False)}
    waiting = memory.stores.search_outbox.everywhere(10)
    assert sorted((one.state, len(one.ids)) for one in waiting) == [("EMBED", 1), *[("EMBED", EMBEDDED_TOGETHER)] * 2]
    uploads.clear()
    assert pump.drain()
    assert memory.agree()
    memory.close()


def test_the_pump_is_told_when_what_is_new_can_be_read_and_of_nothing_else(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    seen: list[tuple[int, list[str]]] = []
    outbox = memory.stores.search_outbox
    memory.all_stores.outbox.listener = lambda pointers: seen.append((outbox.waiting(), [pointer.kind for pointer in pointers]))
    memory.write("passage", "one")
    memory.write("file", "two")
    memory.stores.writer.write(memory.stores.files.fence(FILE))
    assert seen == [(1, ["passage"]), (2, ["file"])]
    memory.close()


def test_an_archive_that_nobody_can_embed_keeps_nothing_else_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_poll_worker, "REST", 0.0)
    memory = memories(tmp_path)
    indexed = threading.Event()

    def hook(call: str) -> None:
        if call == "before embed":
            raise EmbedderFailed("out of reach", retryable=True)
        if call == "after put":
            indexed.set()

    memory.write("file", "a piece, which is known by its words before it is embedded")
    for number in range(pointer_queue.PAGE + 6):
        memory.write("passage", f"cannot be embedded {number}")
    pump = memory.worker(hook)
    pump.start()
    assert indexed.wait(60)
    pump.close()
    memory.close()
