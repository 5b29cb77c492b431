"""Recall of four ways to search, through the services that serve searches: how often the one memory that answers a question is among the
first 1, 5 and 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.retrieval.corpus import KINDS, Question, memories
from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.embedder import Embedders
from hibernaut.ports.memory_index import MemoryIndex
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.schemas.passage import Archive, Passage
from hibernaut.schemas.search import SearchMode
from hibernaut.services.search.hybrid_search import MemorySearch, Where
from hibernaut.services.search.index_poll_worker import IndexPump
from hibernaut.services.search.indexing import Indexing
from hibernaut.services.search.search_sources import MemorySources
from hibernaut.store.stores import Stores, stores_over

ARCHIVE = "archive-00000000-0000-4000-8000-000000000001"
AT = (1, 5, 10)
WAYS: tuple[tuple[str, SearchMode], ...] = (("BM25", "fts"), ("vectors", "vector"), ("hybrid", "hybrid"))
START = datetime(2026, 1, 1, tzinfo=UTC)
Ranks = dict[Question, int | None]


@dataclass
class Archived:
    """The corpus as passages of an archive, indexed."""

    stores: Stores
    search: MemorySearch
    table: SqliteTable

    def ranks(self, questions: Sequence[Question], mode: SearchMode) -> Ranks:
        """Where the right memory stood, from 1; None: not among the first ten."""
        found: Ranks = {}
        for question in questions:
            hits = self.search.passages(
                DEFAULT_TENANT, Where("passage", (ARCHIVE,)), question.text, mode=mode, limit=max(AT)
            ).hits
            found[question] = _place(question.answer, [_number(hit.record.id) for hit in hits])
        return found


def archived(folder: Path, index: MemoryIndex, embedders: Embedders) -> Archived:
    table, clock = SqliteTable(folder / "table.db"), SystemClock()
    stores = stores_over(table, DiskBlobs(folder / "blobs"), clock, indexed=True)
    sources = MemorySources(stores, embedders)
    archive = Archive(id=ARCHIVE, name="corpus", embedding_config=embedders.default(), created_at=START)
    stores.writer.write(*stores.passages.make(DEFAULT_TENANT, archive))
    for number, text in enumerate(memories()):
        passage = Passage(id=_name(number), text=text, archive_id=ARCHIVE, created_at=START + timedelta(minutes=number))
        stores.writer.write(*stores.passages.add(DEFAULT_TENANT, ARCHIVE, [passage]))
    IndexPump(stores.unindexed, Indexing(table, stores, index, sources), [DEFAULT_TENANT]).drain()
    return Archived(stores, MemorySearch(stores, index, sources), table)


def by_substring(questions: Sequence[Question]) -> Ranks:
    """As the V1 server searched messages: the whole question must stand in the text, in one case; the newest first."""
    texts = [(number, text.lower()) for number, text in enumerate(memories())]
    return {
        question: _place(
            question.answer, [number for number, text in reversed(texts) if question.text.lower() in text][: max(AT)]
        )
        for question in questions
    }


def recall(ranks: Ranks, at: int, wanted: Callable[[Question], bool] = lambda _question: True) -> float:
    """In percent."""
    chosen = [rank for question, rank in ranks.items() if wanted(question)]
    return 100 * sum(rank is not None and rank <= at for rank in chosen) / len(chosen)


def row(name: str, ranks: Ranks) -> str:
    asked = [kind for kind in KINDS if any(question.kind == kind for question in ranks)]
    kinds = " ".join(f"{recall(ranks, 10, lambda each, kind=kind: each.kind == kind):10.0f}" for kind in asked)  # type: ignore[misc]
    return f"{name:34}" + " ".join(f"{recall(ranks, at):6.1f}" for at in AT) + "   " + kinds


def _place(answer: int, found: Sequence[int]) -> int | None:
    return found.index(answer) + 1 if answer in found else None


def _name(number: int) -> str:
    return f"passage-00000000-0000-4000-8000-{number:012d}"


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
