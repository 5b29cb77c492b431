"""Memory that is found again: what was just written, what the index knows, and what it says when it sleeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.schemas.memory.search_index import IndexDocument, IndexFound, IndexQuery, Tombstone
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.services.search.candidates import EMBEDDED_CHARACTERS, EMBEDDED_TAIL
from hibernaut.services.search.hybrid_search import HybridSearch, SearchScope
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.services.search.reindexing import Reindexing
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.run_resources import SearchEngines
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.hashing_embedder import HashingEmbedder
from tests.support.world import TENANT

ARCHIVE = "archive-00000000-0000-4000-8000-000000000001"
CONFIG = EmbeddingConfig(embedding_endpoint_type="test", embedding_model="hashing", embedding_dim=64)
WHERE = SearchScope("passage", (ARCHIVE,))
LONG = "and so on " * (EMBEDDED_CHARACTERS // 40)
"""So long that of such texts no more than the least number is embedded."""


class Hashing:
    """The port `Embedders`: one of them, or none."""

    def __init__(self, *, there: bool = True) -> None:
        self.embedder = HashingEmbedder()
        self.there = there

    def of(self, config: EmbeddingConfig | None) -> HashingEmbedder | None:
        return self.embedder if self.there and config is not None else None

    def default(self) -> EmbeddingConfig | None:
        return CONFIG if self.there else None


class Sleeper:
    """An index that sleeps when it is told to."""

    visible_after = 0.0

    def __init__(self, index: SqliteMemoryIndex) -> None:
        self.index = index
        self.asleep = False

    def put(self, space: str, documents: Sequence[IndexDocument]) -> Sequence[str]:
        return self._awake().put(space, documents)

    def discard(self, space: str, copies: Sequence[str]) -> None:
        self._awake().discard(space, copies)

    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        self._awake().remove(space, tombstones)

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        return self._awake().search(space, query)

    def states(self, space: str, tenant: str) -> Iterator[object]:
        return self._awake().states(space, tenant)

    def spaces(self) -> list[str]:
        return self._awake().spaces()

    def drop(self, space: str) -> None:
        self._awake().drop(space)

    def _awake(self) -> SqliteMemoryIndex:
        if self.asleep:
            raise IndexAsleep
        return self.index


@dataclass
class Memory:
    stores: TenantStores
    index: Sleeper
    search: HybridSearch
    pump: IndexPollWorker
    reindexing: Reindexing
    clock: ManualClock
    embedders: Hashing
    made: int = 0

    def insert(self, *texts: str, tags: Sequence[str] = ()) -> list[str]:
        ids = []
        for text in texts:
            self.made += 1
            self.clock.sleep(1)
            passage = Passage(
                id=f"passage-00000000-0000-4000-8000-{self.made:012d}",
                text=text,
                archive_id=ARCHIVE,
                tags=list(tags),
                created_at=self.clock.now(),
            )
            self.stores.writer.write(*self.stores.passages.add(ARCHIVE, [passage]))
            ids.append(passage.id)
        return ids

    def found(self, query: str, where: SearchScope = WHERE, **how: object) -> list[str]:
        return [hit.record.text for hit in self.search.passages(where, query, **how).hits]  # type: ignore[arg-type]


@pytest.fixture(params=[True, False], ids=["embedded", "words only"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    clock = ManualClock()
    table = SqliteTable(tmp_path / "table.db", now=lambda: clock.now().timestamp())
    all_stores = Stores(table, MemoryBlobs(), clock, indexed=True)
    stores = all_stores.of(TENANT)
    index = Sleeper(SqliteMemoryIndex(tmp_path / "index.db", now=lambda: clock.now().timestamp()))
    embedders = Hashing(there=request.param)
    pump = IndexPollWorker(all_stores.outbox, indexing_of(all_stores, index, embedders), lambda: [TENANT])  # type: ignore[arg-type]
    archive = Archive(id=ARCHIVE, name="notes", embedding_config=CONFIG if request.param else None, created_at=clock.now())
    stores.writer.write(*stores.passages.make(archive))
    search = SearchEngines(index, embedders).search(stores)  # type: ignore[arg-type]
    yield Memory(stores, index, search, pump, Reindexing(all_stores, index), clock, embedders)
    index.index.close()


def test_what_was_just_written_is_found_before_the_index_knows_it(memory: Memory) -> None:
    memory.insert("the harbour of Bergen", "a cat on a mat")
    assert memory.found("harbour")[0] == "the harbour of Bergen"


def test_it_is_found_once_when_the_index_knows_it_too(memory: Memory) -> None:
    memory.insert("the harbour of Bergen")
    memory.pump.drain()
    assert memory.stores.search_outbox.of([ARCHIVE], 10) == [[]]
    assert memory.found("harbour of Bergen") == ["the harbour of Bergen"]


def test_old_and_new_are_ranked_together(memory: Memory) -> None:
    memory.insert("red apples and green apples", "a boat")
    memory.pump.drain()
    memory.insert("apples", "an apple tree in the garden")
    assert set(memory.found("green apples")) >= {"red apples and green apples", "apples"}
    assert memory.found("green apples")[0] == "red apples and green apples"


def test_what_nobody_has_embedded_yet_is_not_behind_what_somebody_has(memory: Memory) -> None:
    memory.insert(*(f"note {number} of the harbour" for number in range(30)))
    memory.pump.drain()
    memory.insert("note of the harbour in Bergen", *(f"another thing {number}" for number in range(30)))
    assert memory.found("note of the harbour in Bergen")[0] == "note of the harbour in Bergen"


def test_the_newest_are_compared_with_the_index_by_one_measure(memory: Memory) -> None:
    memory.insert("harbour lights")
    memory.pump.drain()
    memory.insert("harbour")
    assert memory.found("harbour", mode="vector")[0] == "harbour"


def test_what_is_deleted_is_never_found_again_even_if_the_index_has_not_heard(memory: Memory) -> None:
    kept, lost = memory.insert("a letter from Oslo", "a letter from Rome")
    memory.pump.drain()
    memory.stores.writer.write(*memory.stores.passages.remove(ARCHIVE, [lost]))
    assert memory.found("letter") == ["a letter from Oslo"]
    memory.pump.drain()
    space = memory.index.index.spaces()[0]
    assert [state.id for state in memory.index.index.states(space, TENANT)] == [f"{ARCHIVE}/{kept}"]


def test_filters_hold_for_what_the_index_knows_and_for_what_it_does_not(memory: Memory) -> None:
    memory.insert("tea in spring", tags=["tea"])
    memory.pump.drain()
    memory.insert("tea in autumn", tags=["tea", "autumn"])
    memory.insert("tea in winter", tags=["winter"])
    assert set(memory.found("tea", SearchScope("passage", (ARCHIVE,), tags=("tea",)))) == {"tea in spring", "tea in autumn"}
    both = SearchScope("passage", (ARCHIVE,), tags=("tea", "autumn"), tag_match="all")
    assert memory.found("tea", both) == ["tea in autumn"]


def test_an_index_that_sleeps_is_told_of_and_nothing_is_lost(memory: Memory) -> None:
    memory.insert("a harbour")
    memory.pump.drain()
    memory.index.asleep = True
    memory.insert("another harbour")
    assert not memory.pump.drain()
    searched = memory.search.passages(WHERE, "harbour")
    assert (searched.asleep, {hit.record.text for hit in searched.hits}) == (True, {"a harbour", "another harbour"})
    memory.index.asleep = False
    assert memory.pump.drain()
    searched = memory.search.passages(WHERE, "harbour")
    assert (searched.asleep, len(searched.hits)) == (False, 2)


def test_beyond_the_bound_the_answer_says_that_it_may_be_incomplete(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hibernaut.services.search.hybrid_search.TAIL", 2)
    memory.insert("one", "two")
    assert not memory.search.passages(WHERE, "two").incomplete
    memory.insert("three")
    assert memory.search.passages(WHERE, "three").incomplete
    memory.pump.drain()
    assert not memory.search.passages(WHERE, "one").incomplete


def test_by_meaning_alone_what_nobody_has_embedded_may_be_missed_and_the_answer_says_so(memory: Memory) -> None:
    memory.insert(*(f"harbour {number} {LONG}" for number in range(EMBEDDED_TAIL)))
    assert not memory.search.passages(WHERE, "harbour", mode="vector").incomplete
    memory.insert("another harbour")
    embedded = memory.embedders.there
    searched = memory.search.passages(WHERE, "harbour", mode="vector", limit=100)
    assert (searched.incomplete, len(searched.hits)) == (embedded, EMBEDDED_TAIL if embedded else EMBEDDED_TAIL + 1)
    assert not memory.search.passages(WHERE, "harbour").incomplete
    memory.pump.drain()
    assert not memory.search.passages(WHERE, "harbour", mode="vector").incomplete


def test_an_index_that_is_built_anew_says_so_until_it_is_whole(memory: Memory) -> None:
    memory.insert("one", "two", "three")
    memory.pump.drain()
    assert memory.reindexing.begin([TENANT], lambda _progress: None) == 3
    searched = memory.search.passages(WHERE, "two")
    assert searched.incomplete
    assert searched.hits[0].record.text == "two"
    memory.pump.drain()
    assert memory.reindexing.of(TENANT).remaining() == 0
    memory.reindexing.of(TENANT).end()
    assert not memory.search.passages(WHERE, "two").incomplete
    assert len(memory.found("two")) >= 1


@pytest.mark.parametrize("query", ["", "   ", "?!…", "x" * 1_000_000], ids=["empty", "blank", "punctuation", "huge"])
def test_a_query_without_words_finds_nothing_by_words(query: str, memory: Memory) -> None:
    memory.insert("a harbour")
    memory.pump.drain()
    assert memory.search.passages(WHERE, query, mode="fts").hits == ()


def test_an_archive_whose_embedder_is_gone_is_found_by_words(memory: Memory) -> None:
    memory.insert("a harbour")
    memory.pump.drain()
    search = SearchEngines(memory.index, Hashing(there=False)).search(memory.stores)  # type: ignore[arg-type]
    searched = search.passages(WHERE, "harbour")
    assert searched.words_only
    assert [hit.record.text for hit in searched.hits] == ["a harbour"]


def test_what_can_never_be_embedded_is_indexed_by_its_words(memory: Memory) -> None:
    memory.embedders.embedder.refuses = EmbedderFailed("the weights are others", retryable=False)
    memory.insert("a harbour")
    assert memory.pump.drain()
    assert memory.stores.search_outbox.of([ARCHIVE], 10) == [[]]
    assert memory.found("harbour") == ["a harbour"]


@pytest.mark.parametrize("memory", [True], ids=["embedded"], indirect=True)
def test_a_search_embeds_a_few_of_what_waits_and_each_text_once(memory: Memory) -> None:
    inner = memory.embedders.embedder
    memory.embedders.embedder = CachedEmbedder(inner)  # type: ignore[assignment]  # as every embedder of a server is
    memory.insert(*(f"harbour {number} {LONG}" for number in range(EMBEDDED_TAIL)))
    memory.found("a port")
    assert len(inner.embedded) == EMBEDDED_TAIL + 1
    memory.found("a port")
    assert len(inner.embedded) == EMBEDDED_TAIL + 1
    memory.insert(f"another harbour {LONG}")
    assert memory.found("a port")
    assert inner.embedded[EMBEDDED_TAIL + 1 :] == [f"another harbour {LONG}"]


@pytest.mark.parametrize("memory", [True], ids=["embedded"], indirect=True)
def test_each_search_embeds_some_more_of_what_waits_and_compares_all_that_is_known(memory: Memory) -> None:
    inner = memory.embedders.embedder
    memory.embedders.embedder = CachedEmbedder(inner)  # type: ignore[assignment]
    memory.insert(*(f"harbour {number} {LONG}" for number in range(3 * EMBEDDED_TAIL)))
    incomplete = [memory.search.passages(WHERE, f"port {number}", mode="vector").incomplete for number in range(4)]
    assert incomplete == [True, True, False, False]
    assert len(inner.embedded) == 3 * EMBEDDED_TAIL + 4, "each text once, and each query"


@pytest.mark.parametrize("memory", [True], ids=["embedded"], indirect=True)
def test_what_waits_is_compared_by_its_cached_vectors_while_the_embedder_fails(memory: Memory) -> None:
    inner = memory.embedders.embedder
    memory.embedders.embedder = CachedEmbedder(inner)  # type: ignore[assignment]
    memory.insert(f"a harbour {LONG}")
    assert memory.search.passages(WHERE, "harbour", mode="vector").hits
    inner.refuses, inner.only = EmbedderFailed("away", retryable=True), "ferry"
    memory.insert(f"a ferry {LONG}")
    assert [hit.record.text for hit in memory.search.passages(WHERE, "harbour", mode="vector").hits] == [f"a harbour {LONG}"]


@pytest.mark.parametrize("memory", [True], ids=["embedded"], indirect=True)
@pytest.mark.parametrize(("batch", "expected"), [(1, EMBEDDED_TAIL), (EMBEDDED_TAIL + 9, EMBEDDED_TAIL + 9), (1_000, 60)])
def test_of_short_texts_it_embeds_as_many_as_one_call_takes(batch: int, expected: int, memory: Memory) -> None:
    inner = memory.embedders.embedder
    inner.batch = batch
    memory.insert(*(f"harbour {number}" for number in range(60)))
    memory.found("a port")
    assert len(inner.embedded) == expected + 1


@pytest.mark.parametrize("memory", [True], ids=["embedded"], indirect=True)
def test_of_what_waits_it_embeds_first_what_has_the_words_of_the_query_and_then_the_newest(memory: Memory) -> None:
    inner = memory.embedders.embedder
    memory.insert(
        f"the port of Bergen {LONG}", f"an old port {LONG}", *(f"harbour {number} {LONG}" for number in range(EMBEDDED_TAIL))
    )
    memory.found("Bergen port")
    assert inner.embedded[1:3] == [f"the port of Bergen {LONG}", f"an old port {LONG}"]
    assert inner.embedded[3:] == [f"harbour {number} {LONG}" for number in reversed(range(2, EMBEDDED_TAIL))]


@pytest.mark.parametrize("memory", [True], ids=["embedded"], indirect=True)
@pytest.mark.parametrize("fails", [False, True])
def test_what_the_embedder_takes_for_near_takes_turns_with_what_has_words_of_the_query(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    inner, asked = memory.embedders.embedder, list[tuple[str, Sequence[str]]]()

    def likeness(query: str, texts: Sequence[str]) -> list[float]:
        """Those are near that name a low number."""
        asked.append((query, texts))
        if fails:
            raise EmbedderFailed("it cannot be loaded", retryable=False)
        return [-float(text.split()[1]) if text.startswith("harbour") else -1_000.0 for text in texts]

    monkeypatch.setattr(inner, "likeness", likeness)
    harbours = [f"harbour {number} {LONG}" for number in range(2 * EMBEDDED_TAIL)]
    named = [f"the port of Bergen {LONG}", f"an old port {LONG}"]
    memory.insert(*named, *harbours)
    memory.found("Bergen port")
    [(query, texts)] = asked
    assert query == "Bergen port"
    assert set(texts) == {*named, *harbours}
    if fails:
        assert inner.embedded[1:] == [*named, *harbours[::-1][: EMBEDDED_TAIL - 2]]
    else:
        assert inner.embedded[1:] == [named[0], harbours[0], named[1], *harbours[1 : EMBEDDED_TAIL - 2]]


@pytest.mark.parametrize("memory", [True], ids=["embedded"], indirect=True)
def test_nothing_is_estimated_where_all_that_waits_is_embedded(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.embedders.embedder, "likeness", lambda *_: pytest.fail("it was asked for an estimate"))
    memory.insert(*(f"harbour {number}" for number in range(EMBEDDED_TAIL)))
    assert memory.found("a port")


def test_what_waits_is_scored_as_it_is_when_the_index_knows_it(memory: Memory) -> None:
    """By words: the same scores before and after, of what waits and of what does not."""
    memory.insert("the ferry to Bergen", "a boat in the harbour", "rain in Bergen", "tea for two")
    memory.pump.drain()
    memory.insert("the harbour of Bergen", "boats and ferries", "Bergen in the rain")
    before = {hit.record.text: hit.score for hit in memory.search.passages(WHERE, "ferries of Bergen", mode="fts").hits}
    memory.pump.drain()
    after = {hit.record.text: hit.score for hit in memory.search.passages(WHERE, "ferries of Bergen", mode="fts").hits}
    assert before == pytest.approx(after, rel=0.1)
    assert list(before) == list(after)
