"""The search domain in this process: one SQLite index that answers at an address of its own, as moto answers for the services it knows.

Knows: where a function's index is made by its address, and puts this one in its place. Must not know: what is indexed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.local.aws_offline.patching import put
from hibernaut.ports.memory_index import MemoryIndex
from hibernaut.wiring import memory_index

PREFIX = "hibernaut-offline-"
"""What the name of the folder with the index's file begins with."""


@contextmanager
def search_domain() -> Iterator[str]:
    """The address. Other addresses lead where they always do. Whatever asks the index after the end meets IndexAsleep."""
    address, original = f"https://{token_hex(4)}.search.offline", memory_index.domain_index
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        index = SqliteMemoryIndex(Path(folder) / "index.db")

        def here(asked: str, replicas: int) -> MemoryIndex:
            return index if asked == address else original(asked, replicas)

        put(memory_index, "domain_index", here)
        try:
            yield address
        finally:
            put(memory_index, "domain_index", original)
            index.close()
