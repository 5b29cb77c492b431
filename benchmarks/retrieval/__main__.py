"""`python -m benchmarks.retrieval`: recall of four ways to search on SQLite and, where it is installed, on a real OpenSearch node."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.retrieval.corpus import KINDS, memories, questions
from benchmarks.retrieval.measure import AT, WAYS, archived, by_substring, row
from hibernaut.adapters.embedder.catalogue import EmbedderCatalogue
from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.memory_index import MemoryIndex
from tests.support.opensearch import OpenSearchNode
from tools.engines import OPENSEARCH


def main() -> None:
    print(
        f"{len(memories())} memories, {len(questions())} questions; percent of the right ones among the first {AT}, and the first 10 by kind"
    )
    print(f"{'':24}" + " ".join(f"{f'@{at}':>6}" for at in AT) + "   " + " ".join(f"{kind:>10}" for kind in KINDS))
    print(row("substring", by_substring()))
    with tempfile.TemporaryDirectory() as folder:
        index = SqliteMemoryIndex(Path(folder) / "index.db")
        _measured("SQLite", Path(folder), index)
        index.close()
    if OPENSEARCH.missing_programs() or not OPENSEARCH.is_installed():
        print("OpenSearch is not installed (make engines)")
        return
    node = OpenSearchNode()
    try:
        node.start()
        with tempfile.TemporaryDirectory() as folder:
            _measured("OpenSearch", Path(folder), OpenSearchMemoryIndex(connected(node.address, seconds=60), prefix="retrieval"))
    finally:
        node.close()


def _measured(name: str, folder: Path, index: MemoryIndex) -> None:
    corpus = archived(folder, index, EmbedderCatalogue(EnvironmentSecrets({})))
    for way, mode in WAYS:
        print(row(f"{name}, {way}", corpus.ranks(mode)), flush=True)
    corpus.table.close()


if __name__ == "__main__":
    main()
