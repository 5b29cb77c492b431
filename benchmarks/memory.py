"""`python -m benchmarks.memory`: inserting, indexing and searching memory in the embedded profile, and the resident size, in one
process.

The services are those that serve requests. Texts are generated and their vectors are random, so that the figures exclude the
embedding, which is measured separately.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.embedder.minilm import MiniLM
from hibernaut.adapters.embedder.uncached import UncachedEmbedder
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.memory.embedder import Vector
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.services.search.hybrid_search import SearchScope
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.store.stores import Stores
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.run_resources import SearchEngines

ARCHIVE = "archive-00000000-0000-4000-8000-000000000001"
CONFIG = EmbeddingConfig(embedding_endpoint_type="test", embedding_model="drawn", embedding_dim=384)
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = [f"word{number}" for number in range(4000)]
AT_ONCE = 80
TIMED = 100


class RandomEmbedder(UncachedEmbedder):
    """An embedder that derives a random vector from each text. It takes almost no time and knows no meaning."""

    space, dimension, max_tokens, batch = "drawn-384", 384, 254, 100

    def count(self, text: str) -> int:
        return len(text.split())

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        import numpy as np

        del query
        found = []
        for text in texts:
            drawn = np.random.default_rng(abs(hash(text))).standard_normal(384)
            found.append(tuple((drawn / np.linalg.norm(drawn)).tolist()))
        return found

    def of(self, config: EmbeddingConfig | None) -> RandomEmbedder | None:
        return self if config else None

    def default(self) -> EmbeddingConfig:
        return CONFIG


class Memory:
    """An archive over SQLite in a folder, with its index and the worker that feeds it."""

    def __init__(self, folder: Path) -> None:
        self.table = SqliteTable(folder / "table.db")
        self.index = SqliteMemoryIndex(folder / "index.db")
        all_stores = Stores(self.table, DiskBlobs(folder / "blobs"), SystemClock(), indexed=True)
        self.stores = all_stores.of(DEFAULT_TENANT)
        self.search = SearchEngines(self.index, RandomEmbedder()).search(self.stores)
        self.pump = IndexPollWorker(
            all_stores.outbox, indexing_of(all_stores, self.index, RandomEmbedder()), lambda: [DEFAULT_TENANT]
        )
        archive = Archive(id=ARCHIVE, name="bench", embedding_config=CONFIG, created_at=START)
        self.stores.writer.write(*self.stores.passages.make(archive))
        self.drawn = random.Random(1)
        self.count = 0

    def insert(self, number: int) -> None:
        """Insert so many passages in one transaction."""
        passages = []
        for _ in range(number):
            self.count += 1
            name = f"passage-00000000-0000-4000-8000-{self.count:012d}"
            passages.append(
                Passage(id=name, text=self.text(60), archive_id=ARCHIVE, created_at=START + timedelta(seconds=self.count))
            )
        self.stores.writer.write(*self.stores.passages.add(ARCHIVE, passages))

    def grow(self, to: int) -> None:
        while self.count < to:
            self.insert(min(AT_ONCE, to - self.count))
        self.pump.drain()

    def text(self, words: int) -> str:
        return " ".join(self.drawn.choices(WORDS, k=words))

    def look(self) -> None:
        if len(self.search.passages(SearchScope("passage", (ARCHIVE,)), self.text(6), limit=10).hits) != 10:
            raise SystemExit("a search found less than it had to")

    def close(self) -> None:
        self.index.close()
        self.table.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder))
        for size in (10_000, 100_000):
            start = time.perf_counter()
            memory.grow(size)
            row(f"{size:,} passages written and indexed (s, without embedding)", time.perf_counter() - start)
            timed(f"{size:,} passages: hybrid search", memory.look)
            timed(f"{size:,} passages: one more", lambda: memory.insert(1))
            timed(f"{size:,} passages: hybrid search with {TIMED} that the index does not know", memory.look)
            timed(f"{size:,} passages: one is indexed", lambda: memory.pump.drain() and None, before=lambda: memory.insert(1))
            row(f"{size:,} passages: resident (MB)", resident())
        memory.close()
    pieces()


def pieces() -> None:
    """Measure how many pieces of 254 tokens two threads embed in a second, as many threads as the index worker has."""
    model, drawn = MiniLM(), random.Random(2)
    text = " ".join(drawn.choices(("harbour", "winter", "letter", "morning", "garden", "window", "river"), k=254))
    model.embed([text])
    each = 12
    start = time.perf_counter()
    threads = [threading.Thread(target=lambda: model.embed([text] * each)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    row("MiniLM: pieces of 254 tokens by two threads (a second)", 2 * each / (time.perf_counter() - start))
    timed("MiniLM: a query of six words", lambda: model.embed([" ".join(drawn.choices(WORDS, k=6))], query=True) and None)


def timed(what: str, action: Callable[[], None], before: Callable[[], None] = lambda: None) -> None:
    action()
    walls, cpu = [], 0.0
    for _ in range(TIMED):
        before()
        start, start_cpu = time.perf_counter(), time.process_time()
        action()
        walls.append(1000 * (time.perf_counter() - start))
        cpu += 1000 * (time.process_time() - start_cpu)
    walls.sort()
    print(f"{what:76} {statistics.median(walls):8.1f} ms {walls[int(0.95 * TIMED)]:8.1f} p95 {cpu / TIMED:8.1f} CPU", flush=True)


def row(what: str, number: float) -> None:
    print(f"{what:76} {number:8.1f}", flush=True)


def resident() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines() if sys.platform == "linux" else []
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS")), 0.0)


if __name__ == "__main__":
    main()
