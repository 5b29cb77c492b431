"""`python -m benchmarks.retrieval`: the recall of every search mode on every corpus, on SQLite and, if it is installed, on
OpenSearch.

`--faqs FOLDER`: the folder with the unpacked Debian packages of `faqs`, if they are not installed. `--conversations FILE`: the
file of `conversations`; its figures are the means of all questions, each of which is asked in its own conversation.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.retrieval import conversations, dialogue, faqs, memories
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
"""In the rows about waiting texts, one part of so many is not in the index yet; each part in turn, so that every answer waits
once.
"""
WEIGHTS = (0.3, 0.4, 0.44, 0.48, 0.52, 0.6)
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


@dataclass(frozen=True, slots=True)
class Set:
    """Corpora of one column, each of which is searched alone."""

    name: str
    corpora: tuple[Corpus, ...]

    @property
    def asked(self) -> int:
        """How many questions there are."""
        return sum(len(each.questions) for each in self.corpora)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faqs", type=Path, default=Path("/"))
    parser.add_argument("--conversations", type=Path)
    options = parser.parse_args()
    sets = [Set(each.name, (each,)) for each in (*memories.corpora(), *dialogue.corpora(), *faqs.corpora(options.faqs))]
    if options.conversations:
        sets.append(Set("conversations", tuple(conversations.corpora(options.conversations))))
    print("Percent of the answers among the first " + " / ".join(map(str, AT)))
    for each in sets:
        print(f"  {each.name}: {sum(len(one.texts) for one in each.corpora)} texts, {each.asked} questions")
    print(" " * 44 + "".join(f"{each.name:>26}" for each in sets), flush=True)
    embedders = Remembering()
    with tempfile.TemporaryDirectory() as folder:
        _table("SQLite", sets, embedders, lambda name: SqliteMemoryIndex(Path(folder) / f"{name}.db"))
    if OPENSEARCH.missing_programs() or not OPENSEARCH.is_installed():
        print("OpenSearch is not installed (make engines)")
        return
    node = OpenSearchNode()
    try:
        node.start()
        client = connected(node.address, seconds=60)
        _table(
            "OpenSearch",
            sets,
            embedders,
            lambda name: OpenSearchMemoryIndex(client, prefix=f"retrieval-{name}", dialect=DomainDialect(client)),
        )
    finally:
        node.close()


def _table(engine: str, sets: Sequence[Set], embedders: Embedders, index: Callable[[str], MemoryIndex]) -> None:
    columns = [_column(each, embedders, index, f"{number}") for number, each in enumerate(sets)]
    _choose_by_other_kinds(sets, columns)
    for way in WAYS:
        print(f"{f'{engine}, {way}':44}" + "".join(f"{column.get(way, ''):>26}" for column in columns), flush=True)


def _choose_by_other_kinds(sets: Sequence[Set], columns: Sequence[dict[str, str]]) -> None:
    """For each set: hybrid search with the weight that is best on the sets of all other kinds, of which this kind had no say."""
    for chosen, column in zip(sets, columns, strict=True):
        others = [each for other, each in zip(sets, columns, strict=True) if _kind(other) != _kind(chosen)]
        if others:
            best = max(WEIGHTS, key=lambda weight: sum(_last(each[f"weight {weight}"]) for each in others))
            column["hybrid, weight of other kinds"] = f"{column[f'weight {best}']} ({best})"


def _kind(each: Set) -> str:
    """The kind of a set: `Python FAQ` and `Debian FAQ` are of one."""
    return each.name.partition(",")[0].rpartition(" ")[2]


def _last(cell: str) -> float:
    """The recall at the largest depth."""
    return float(cell.rpartition("/")[2])


def _column(each: Set, embedders: Embedders, index: Callable[[str], MemoryIndex], name: str) -> dict[str, str]:
    measured = [
        (corpus, _measured(corpus, embedders, index, f"{name}-{number}"))
        for number, corpus in enumerate(each.corpora)
        if corpus.questions
    ]
    ways = [*WAYS, *(f"weight {weight}" for weight in WEIGHTS)]
    return {way: _cell(each, [(corpus, found[way]) for corpus, found in measured if way in found]) for way in ways}


def _measured(corpus: Corpus, embedders: Embedders, index: Callable[[str], MemoryIndex], name: str) -> dict[str, list[Places]]:
    """What each way of searching finds; the ways of which several measurements are the mean have several."""
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
    return found


def _cell(each: Set, measured: Sequence[tuple[Corpus, Sequence[Places]]]) -> str:
    """Recall at each depth: the mean of all questions, and of several measurements."""
    if not measured:
        return ""
    return " / ".join(f"{_sum(measured, at) / each.asked:.1f}" for at in AT)


def _sum(measured: Sequence[tuple[Corpus, Sequence[Places]]], at: int) -> float:
    """The sum of the recall of all questions in percent, each the mean of its measurements."""
    return sum(
        len(corpus.questions) * statistics.mean(recall(corpus, places, at) for places in found) for corpus, found in measured
    )


if __name__ == "__main__":
    main()
