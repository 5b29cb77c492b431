"""A search in a conversation finds what its list shows, and nothing else: over any tree of forks, with an index that knows all,
some or none of it, and without one.

What happens to conversations is what `test_forks` does to them; here everything in them is searched for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.domain.search.index_documents import searchable_text
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.schemas.memory.search_index import SearchMode
from hibernaut.schemas.memory.searches import AgentMessageSearch, MessageSearch
from hibernaut.services.search.search_api import SearchApi
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.run_resources import SearchEngines
from tests.properties.test_forks import MOST, WHICH, Forks
from tests.support.conversations import talk
from tests.support.hashing_embedder import OneEmbedder
from tests.support.world import TENANT

ALL = 1_000
MODES: tuple[SearchMode, ...] = ("hybrid", "fts", "vector")
TALKS = st.tuples(st.just("talks"), WHICH, st.lists(st.booleans(), min_size=1, max_size=2))
FORKS = st.tuples(st.just("is_forked"), WHICH, st.none() | st.integers(0, 20))
OTHERS = st.one_of(
    st.tuples(st.just("is_told_by_the_system"), WHICH),
    st.tuples(st.just("begins_another")),
    st.tuples(st.just("is_deleted"), WHICH),
    st.tuples(st.just("some_is_indexed"), st.sets(st.integers(0, 30))),
)
NARROWS = st.one_of(
    st.tuples(st.just("is_compacted_and_forked"), WHICH, st.integers(0, 5)),
    st.tuples(st.just("has_its_window_set_and_is_forked"), WHICH, st.sets(st.integers(0, 9), min_size=1, max_size=4)),
)
STORY = st.lists(st.one_of(TALKS, TALKS, FORKS, NARROWS, OTHERS), min_size=10, max_size=25)


class Searched(Forks):
    indexed = True

    def opens(self) -> None:
        super().opens()
        self.index = SqliteMemoryIndex(Path(self.folder.name) / "index.db")
        self.indexing = indexing_of(self.world.all_stores, self.index, OneEmbedder()).of(TENANT)
        talk(self.world, self.world.make_agent())

    def goes_on(self, name: str, *given: Any) -> None:
        room = MOST if name == "begins_another" or name.endswith("forked") else MOST + 1
        if len(self.copies) < room and (name != "is_deleted" or len(self.copies) > 1):
            getattr(self, name)(*given)

    def is_compacted_and_forked(self, which: int, keep: int) -> None:
        self.is_compacted(which, keep)
        self.is_forked(which, None)

    def has_its_window_set_and_is_forked(self, which: int, places: set[int]) -> None:
        self.has_its_window_set(which, places)
        self.is_forked(which, None)

    def some_is_indexed(self, which: set[int] | None = None) -> None:
        pointers = self.world.stores.search_outbox.everywhere(ALL)
        keys = [pointer.key for place, pointer in enumerate(pointers) if which is None or place in which]
        items = self.world.data.table.get_many(keys)
        self.indexing.take((key, items.get(key)) for key in keys)

    def searches(self, index: MemoryIndex | None) -> SearchApi:
        return SearchApi(self.world.stores, SearchEngines(index, OneEmbedder()).search(self.world.stores))

    def agrees(self, conversation: str, index: MemoryIndex | None, mode: SearchMode) -> None:
        shown = [row.id for row in self.world.stores.conversations.page(conversation) if searchable_text(row) is not None]
        named = "default" if conversation == self.agent else conversation
        asked = {"query": "said", "conversation_id": named, "search_mode": mode, "limit": ALL}
        searches = self.searches(index)
        hits, told = searches.messages(MessageSearch.model_construct(**asked, agent_id=self.agent))
        found = sorted(hit.message_id for hit in hits)
        if mode == "vector" and told == "incomplete":
            assert set(found) < set(shown), "more was said lately than a search embeds"
            return
        assert found == shown
        assert told == (None if index else "words-only")
        if conversation != self.agent:
            rows, _ = searches.agents_messages(AgentMessageSearch.model_construct(**asked))
            assert sorted(str(row.message["id"]) for row in rows) == shown, "whoever's it is"

    def finds_nothing_in_the_dead(self) -> None:
        """Also where a living fork keeps rows of it."""
        for dead in self.seen:
            asked = MessageSearch.model_construct(query="said", conversation_id=dead)
            assert self.searches(self.index).messages(asked)[0] == []

    def finds_what_was_said_in_own_conversations(self) -> None:
        agents = [str(row["sk"]) for row in self.world.stores.agents.rows()]
        shown = [row.id for agent in agents for row in self.world.log(agent) if searchable_text(row) is not None]
        asked = MessageSearch.model_construct(query="said", conversation_id="default", limit=ALL)
        hits, _ = self.searches(self.index).messages(asked)
        assert sorted(hit.message_id for hit in hits) == sorted(shown)

    def closes(self) -> None:
        self.index.close()
        self.teardown()


@settings(max_examples=20)
@given(story=STORY)
def test_a_search_in_a_conversation_finds_what_its_list_shows(story: list[tuple[Any, ...]]) -> None:
    forks = Searched()
    forks.opens()
    for place, (name, *told) in enumerate(story):
        forks.goes_on(name, *told)
        for number, conversation in enumerate(forks.copies):
            forks.agrees(conversation, forks.index, MODES[(number + place) % len(MODES)])
    forks.finds_nothing_in_the_dead()
    forks.finds_what_was_said_in_own_conversations()
    forks.some_is_indexed()
    assert forks.world.stores.search_outbox.waiting() == 0
    for conversation in forks.copies:
        for mode in MODES:
            forks.agrees(conversation, forks.index, mode)
        forks.agrees(conversation, None, "hybrid")
    forks.finds_nothing_in_the_dead()
    forks.finds_what_was_said_in_own_conversations()
    forks.closes()
