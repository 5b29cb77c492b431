"""How many pieces of a file are embedded, wherever a worker of the index dies: each is counted once."""

from __future__ import annotations

from pathlib import Path

from hibernaut.store.memory.search_outbox import EMBEDDED_TOGETHER
from tests.support.memories import FILE, Killed, Memories, memories
from tests.support.world import TENANT

PIECES = 5
WRITES = ("before write", "after write", "before put", "after put")


def _counted(memory: Memories) -> int:
    file = memory.stores.files.get(FILE)
    assert file is not None
    return file.embedded


def _dies_at(memory: Memories, call: int) -> bool:
    """Whether the worker dies, which it does before or after one of its writes to the table or the index."""
    calls = 0

    def hook(name: str) -> None:
        nonlocal calls
        calls += name in WRITES
        if name in WRITES and calls == call:
            raise Killed

    try:
        memory.worker(hook).drain()
    except Killed:
        return True
    return False


def test_wherever_a_worker_dies_each_piece_of_a_file_is_counted_once(tmp_path: Path) -> None:
    call, dies = 0, True
    while dies:
        call += 1
        folder = tmp_path / str(call)
        folder.mkdir()
        memory = memories(folder)
        memory.write("file", *(f"piece {number}" for number in range(PIECES)))
        dies = _dies_at(memory, call)
        assert memory.worker().drain()
        assert _counted(memory) == PIECES, f"after a death at call {call}"
        memory.close()
    assert call > 8


def test_an_index_that_is_built_anew_meanwhile_counts_no_piece_twice(tmp_path: Path) -> None:
    """Whatever the first index knew when it was emptied: nothing, the words, some vectors, or all."""
    call, dies, counts = 0, True, set[int]()
    while dies:
        call += 1
        folder = tmp_path / str(call)
        folder.mkdir()
        memory = memories(folder)
        memory.write("file", *(f"piece {number}" for number in range(2 * EMBEDDED_TOGETHER)))
        memory.write("file", "the last piece")
        dies = _dies_at(memory, call)
        counts.add(_counted(memory))
        memory.reindexing().begin([TENANT], lambda _progress: None)
        assert memory.worker().drain()
        assert (_counted(memory), memory.agree()) == (2 * EMBEDDED_TOGETHER + 1, True), f"after a death at call {call}"
        memory.close()
    assert counts == {0, 1, EMBEDDED_TOGETHER + 1, 2 * EMBEDDED_TOGETHER + 1}


def test_pieces_of_a_file_that_is_gone_leave_no_pointer_and_no_count(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    written = memory.write("file", "one", "two")

    def hook(call: str) -> None:
        if call == "before embed":
            file = memory.stores.files.get(FILE)
            assert file is not None
            memory.stores.writer.write(*memory.stores.files.delete(file))

    assert memory.worker(hook).drain()
    assert written
    assert memory.stores.search_outbox.waiting() == 0
    assert memory.stores.files.get(FILE) is None
    memory.close()
