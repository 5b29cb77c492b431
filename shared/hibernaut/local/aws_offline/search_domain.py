"""The search domain in this process: one SQLite index at an address of its own, as moto serves other services.

Knows: where a function's index is created from its address, and replaces it. Must not know: what is indexed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from secrets import token_hex

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.local.aws_offline.patching import put
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.wiring.engines import memory_index

PREFIX = "hibernaut-offline-"
"""The prefix of the name of the folder with the index's file."""


@contextmanager
def search_domain(data: Path | None = None) -> Iterator[str]:
    """The address of the index. Other addresses are unaffected. After the end of the context, calls of the index raise
    IndexAsleep. `data`: the folder of the index's file (None: a temporary one).
    """
    address, original = f"https://{token_hex(4)}.search.offline", memory_index.domain_index
    with nullcontext(data) if data else tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        index = SqliteMemoryIndex(Path(folder) / "index.db")

        def here(url: str, replicas: int) -> MemoryIndex:
            return index if url == address else original(url, replicas)

        put(memory_index, "domain_index", here)
        try:
            yield address
        finally:
            put(memory_index, "domain_index", original)
            index.close()
