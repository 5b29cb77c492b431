"""`python -m benchmarks.retrieval`: the recall of every search mode on every corpus, on SQLite and, if it is installed, on OpenSearch.

`--faqs FOLDER`: the folder with the unpacked Debian packages of `faqs`, if they are not installed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.retrieval import dialogue, faqs, memories
from benchmarks.retrieval.corpora import Corpus, Places, recall
from benchmarks.retrieval.measure import OfProcess, Remembering, archived
from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.adapters.memory_index.opensearch_domain import DomainDialect
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.memory.memory_index import MemoryIndex
from tests.support.opensearch import OpenSearchNode
from tools.engines import OPENSEARCH

AT = (1, 5, 10)
PARTS = 4
"""In the rows about waiting texts, one part of so many is not in the index yet; each part in turn, so that every answer waits once."""
WEIGHTS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.7)
"""Of the words, from which one is chosen on the corpora of other kinds."""
WAYS = (
    "vectors",
    "words",
    "reciprocal ranks",
    "hybrid",
    "hybrid, weight of other kinds",
    "words, no index",
    "hybrid, a quarter waits, first search",
    "hybrid, a quarter waits",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faqs", type=Path, default=Path("/"))
    corpora = [*memories.corpora(), *dialogue.corpora(), *faqs.corpora(parser.parse_args().faqs)]
    print("Percent of the answers among the first " + " / ".join(map(str, AT)))
    for corpus in corpora:
        print(f"  {corpus.name}: {len(corpus.texts)} texts, {len(corpus.questions)} questions")
    print(" " * 44 + "".join(f"{corpus.name:>26}" for corpus in corpora), flush=True)
    embedders = Remembering()
    with tempfile.TemporaryDirectory() as folder:
        _table("SQLite", corpora, embedders, lambda name: SqliteMemoryIndex(Path(folder) / f"{name}.db"))
    if OPENSEARCH.missing_programs() or not OPENSEARCH.is_installed():
        print("OpenSearch is not installed (make engines)")
        return
    node = OpenSearchNode()
    try:
        node.start()
        client = connected(node.address, seconds=60)
        _table(
            "OpenSearch",
            corpora,
            embedders,
            lambda name: OpenSearchMemoryIndex(client, prefix=f"retrieval-{name}", dialect=DomainDialect(client)),
        )
    finally:
        node.close()


def _table(engine: str, corpora: Sequence[Corpus], embedders: Embedders, index: Callable[[str], MemoryIndex]) -> None:
    columns = [_column(corpus, embedders, index, f"{number}") for number, corpus in enumerate(corpora)]
    _choose_by_other_kinds(corpora, columns)
    for way in WAYS:
        print(f"{f'{engine}, {way}':44}" + "".join(f"{column.get(way, ''):>26}" for column in columns), flush=True)


def _choose_by_other_kinds(corpora: Sequence[Corpus], columns: Sequence[dict[str, str]]) -> None:
    """For each corpus: hybrid search with the weight that is best on the corpora of all other kinds, of which this kind had no say."""
    for corpus, column in zip(corpora, columns, strict=True):
        others = [each for other, each in zip(corpora, columns, strict=True) if _kind(other) != _kind(corpus)]
        if others:
            best = max(WEIGHTS, key=lambda weight: sum(_last(each[f"weight {weight}"]) for each in others))
            column["hybrid, weight of other kinds"] = f"{column[f'weight {best}']} ({best})"


def _kind(corpus: Corpus) -> str:
    """The kind of a corpus: `Python FAQ` and `Debian FAQ` are of one."""
    return corpus.name.partition(",")[0].rpartition(" ")[2]


def _last(cell: str) -> float:
    """The recall at the largest depth."""
    return float(cell.rpartition("/")[2])


def _column(corpus: Corpus, embedders: Embedders, index: Callable[[str], MemoryIndex], name: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        whole = archived(Path(folder), index(f"{name}-whole"), embedders, corpus.texts)
        found = {
            "vectors": [whole.found(corpus.questions, "vector")],
            "words": [whole.found(corpus.questions, "fts")],
            "reciprocal ranks": [whole.fused_by_ranks(corpus.questions)],
            "hybrid": [whole.found(corpus.questions, "hybrid")],
            "words, no index": [whole.found_without_index(corpus.questions)],
            "hybrid, a quarter waits, first search": [],
            "hybrid, a quarter waits": [],
            **{f"weight {weight}": [whole.found_with_weight(corpus.questions, weight)] for weight in WEIGHTS},
        }
        whole.table.close()
    for part in range(PARTS):
        waiting = range(part * len(corpus.texts) // PARTS, (part + 1) * len(corpus.texts) // PARTS)
        for number, way in enumerate(("hybrid, a quarter waits, first search", "hybrid, a quarter waits")):
            process = OfProcess(embedders, searches=number > 0)
            with tempfile.TemporaryDirectory() as folder:
                partly = archived(Path(folder), index(f"{name}-part-{part}-{number}"), process, corpus.texts, waiting=waiting)
                found[way].append(partly.found(corpus.questions, "hybrid"))
                partly.table.close()
    return {way: _cell(corpus, places) for way, places in found.items()}


def _cell(corpus: Corpus, found: Sequence[Places]) -> str:
    """Recall at each depth, the mean of several measurements."""
    return " / ".join(f"{statistics.mean(recall(corpus, places, at) for places in found):.1f}" for at in AT)


if __name__ == "__main__":
    main()
