"""`python -m benchmarks.retrieval`: recall of four ways to search on SQLite and, where it is installed, on a real OpenSearch node."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.retrieval.corpus import KINDS, memories, questions, unseen
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
        f"{len(memories())} memories, {len(questions())} questions and {len(unseen())} that were held out; "
        f"percent of the right ones among the first {AT}, and the first 10 by kind"
    )
    print(f"{'':34}" + " ".join(f"{f'@{at}':>6}" for at in AT) + "   " + " ".join(f"{kind:>10}" for kind in KINDS))
    print(row("substring", by_substring(questions())))
    print(row("substring, held out", by_substring(unseen())))
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
    for asked, told in ((questions(), ""), (unseen(), ", held out")):
        for way, mode in WAYS:
            print(row(f"{name}, {way}{told}", corpus.ranks(asked, mode)), flush=True)
    corpus.table.close()


if __name__ == "__main__":
    main()
