"""What the pump does first, and what it does after something went wrong."""

from __future__ import annotations

from pathlib import Path

from tests.support.memories import ARCHIVE, FILE, memories
from tests.support.world import TENANT


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
    assert memory.stores.unindexed.waiting(TENANT) == 0
    memory.close()
