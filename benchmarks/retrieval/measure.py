"""Recall through the services that serve searches, for a corpus in an archive that is indexed completely, in part, or not at
all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.retrieval.corpora import Places, Question
from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.adapters.embedder.catalogue import EmbedderCatalogue
from hibernaut.adapters.embedder.wrapped_embedder import WrappedEmbedder
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.domain.search import fusion
from hibernaut.ports.memory.embedder import Embedder, Embedders, Vector
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.schemas.memory.search_index import SearchMode
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.services.search.hybrid_search import HybridSearch, SearchScope
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.run_resources import SearchEngines

ARCHIVE = "archive-00000000-0000-4000-8000-000000000001"
DEEPEST = 10
NONE = range(0)
MOST_REMEMBERED = 100_000
RECIPROCAL_RANK_CONSTANT = 60
OF_EACH_LIST = 50
START = datetime(2026, 1, 1, tzinfo=UTC)


class Remembering:
    """The local embedding models with a cache: each text is embedded once, even if several archives and engines contain it."""

    def __init__(self) -> None:
        self._inner = EmbedderCatalogue(EnvironmentSecrets({}))
        self._made: dict[str, CachedEmbedder] = {}

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        inner = self._inner.of(config)
        if inner is None:
            return None
        return self._made.setdefault(inner.space, CachedEmbedder(inner, most=MOST_REMEMBERED, most_texts=MOST_REMEMBERED))

    def default(self) -> EmbeddingConfig | None:
        return self._inner.default()


class _Forgetting(WrappedEmbedder):
    """An embedder whose vectors are known to nobody: each search is the first one of its process."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        return self._inner.embed(texts, query=query)

    def known(self, texts: Sequence[str]) -> list[Vector | None]:
        return [None] * len(texts)


class OfProcess:
    """The embedding models as a server has them, which takes the vectors from `inner` instead of a model. `searches` False: each
    search is the first one of its process, else all searches are of one, with a cache of the usual size.
    """

    def __init__(self, inner: Embedders, *, searches: bool) -> None:
        self._inner, self._searches = inner, searches
        self._made: dict[str, Embedder] = {}

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        inner = self._inner.of(config)
        if inner is None:
            return None
        forgetting = _Forgetting(inner)
        return self._made.setdefault(inner.space, CachedEmbedder(forgetting) if self._searches else forgetting)

    def default(self) -> EmbeddingConfig | None:
        return self._inner.default()


@dataclass(frozen=True, slots=True)
class Archived:
    """An archive with the texts of a corpus as passages."""

    stores: TenantStores
    search: HybridSearch
    without_index: HybridSearch
    table: SqliteTable

    def found(self, questions: Sequence[Question], mode: SearchMode) -> Places:
        return {question: self._places(self.search, question, mode, DEEPEST) for question in questions}

    def found_with_weight(self, questions: Sequence[Question], weight: float) -> Places:
        """Hybrid search as it would be with another weight of the words."""
        usual, fusion.WORDS_WEIGHT = fusion.WORDS_WEIGHT, weight
        try:
            return self.found(questions, "hybrid")
        finally:
            fusion.WORDS_WEIGHT = usual

    def found_without_index(self, questions: Sequence[Question]) -> Places:
        """Search by words in the newest records of the table, as on AWS with `search=none` and while the index does not
        answer.
        """
        return {question: self._places(self.without_index, question, "hybrid", DEEPEST) for question in questions}

    def fused_by_ranks(self, questions: Sequence[Question]) -> Places:
        """Fuse the same two lists by reciprocal ranks, for comparison."""
        found: Places = {}
        for question in questions:
            scores: dict[int, float] = {}
            for mode in ("fts", "vector"):
                for rank, place in enumerate(self._places(self.search, question, mode, OF_EACH_LIST), 1):  # type: ignore[arg-type]
                    scores[place] = scores.get(place, 0.0) + 1 / (RECIPROCAL_RANK_CONSTANT + rank)
            found[question] = sorted(scores, key=lambda place: -scores[place])
        return found

    def _places(self, search: HybridSearch, question: Question, mode: SearchMode, limit: int) -> list[int]:
        where = SearchScope("passage", (ARCHIVE,))
        return [_number(hit.record.id) for hit in search.passages(where, question.text, mode=mode, limit=limit).hits]


def archived(folder: Path, index: MemoryIndex, embedders: Embedders, texts: Sequence[str], *, waiting: range = NONE) -> Archived:
    """Write the texts into a new archive and index them, but for those at the places `waiting`, which are written last."""
    table, clock = SqliteTable(folder / "table.db"), SystemClock()
    all_stores = Stores(table, DiskBlobs(folder / "blobs"), clock, indexed=True)
    stores = all_stores.of(DEFAULT_TENANT)
    archive = Archive(id=ARCHIVE, name="corpus", embedding_config=embedders.default(), created_at=START)
    stores.writer.write(*stores.passages.make(archive))
    _write(stores, texts, [number for number in range(len(texts)) if number not in waiting])
    IndexPollWorker(all_stores.outbox, indexing_of(all_stores, index, embedders), lambda: [DEFAULT_TENANT]).drain()
    _write(stores, texts, waiting)
    with_index, without = SearchEngines(index, embedders), SearchEngines(None, embedders)
    return Archived(stores, with_index.search(stores), without.search(stores), table)


def _write(stores: TenantStores, texts: Sequence[str], numbers: Sequence[int]) -> None:
    for number in numbers:
        passage = Passage(id=_name(number), text=texts[number], archive_id=ARCHIVE, created_at=START + timedelta(minutes=number))
        stores.writer.write(*stores.passages.add(ARCHIVE, [passage]))


def _name(number: int) -> str:
    return f"passage-00000000-0000-4000-8000-{number:012d}"


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
