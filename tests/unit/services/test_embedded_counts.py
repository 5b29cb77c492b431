"""How many pieces of a file are embedded, wherever a worker of the index dies: each is counted once."""

from __future__ import annotations

from pathlib import Path

from tests.support.memories import FILE, Killed, Memories, memories
from tests.support.world import TENANT

PIECES = 5
WRITES = ("before write", "after write", "before put", "after put")


def _counted(memory: Memories) -> int:
    file = memory.stores.files.get(TENANT, FILE)
    assert file is not None
    return file.embedded


def _dies_at(memory: Memories, call: int) -> bool:
    """Whether the worker dies: it does before or after its so manyth writing to the table or the index."""
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


def test_pieces_of_a_file_that_is_gone_leave_no_pointer_and_no_count(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    written = memory.write("file", "one", "two")

    def hook(call: str) -> None:
        if call == "before embed":
            file = memory.stores.files.get(TENANT, FILE)
            assert file is not None
            memory.stores.writer.write(*memory.stores.files.delete(TENANT, file))

    assert memory.worker(hook).drain()
    assert written
    assert memory.stores.unindexed.waiting(TENANT) == 0
    assert memory.stores.files.get(TENANT, FILE) is None
    memory.close()
