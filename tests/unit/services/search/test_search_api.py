"""Searches whose index sleeps, or that look at more than they can: what they find, and what they say about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.schemas.memory.passage import CreatePassage
from hibernaut.schemas.memory.search_index import IndexFound, IndexQuery
from hibernaut.schemas.memory.searches import ArchivalSearch, PassageSearch
from hibernaut.schemas.messages.message import Message
from hibernaut.services.search import search_api
from hibernaut.services.search.hybrid_search import HybridSearch, SearchResult
from hibernaut.services.search.search_api import SearchApi, standing
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.services.tool_calls.memory_tools import MemoryTools
from hibernaut.store.stores import TenantStores
from hibernaut.wiring.run_resources import SearchEngines
from tests.support.house import House
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import World, data_in


class Asleep:
    """An index that does not answer, whatever is asked."""

    def spaces(self) -> list[str]:
        raise IndexAsleep("no answer")

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        raise IndexAsleep(f"{space} does not answer {query.kind}")


def asleep(stores: TenantStores) -> HybridSearch:
    return SearchEngines(Asleep(), NoEmbedders()).search(stores)  # type: ignore[arg-type]


def test_a_search_says_what_it_could_not_do() -> None:
    nothing: SearchResult[Message] = SearchResult()
    assert standing(nothing) is None
    assert standing(SearchResult(words_only=True)) == "words-only"
    assert standing(SearchResult(incomplete=True, words_only=True)) == "incomplete, words-only"
    assert standing(SearchResult(asleep=True, words_only=True)) == "asleep"
    assert standing(SearchResult(asleep=True, incomplete=True, words_only=True)) == "asleep, incomplete"


def test_while_the_index_sleeps_words_find_what_is_new(house: House) -> None:
    agent, sleeping = house.agent(), SearchApi(house.stores, asleep(house.stores))
    house.services.passages.create_for(agent.id, CreatePassage(text="Rex is a dog."))
    hits, told = sleeping.passages(PassageSearch(query="dog"))
    assert ([hit.passage.text for hit in hits], told) == (["Rex is a dog."], "asleep")
    found = sleeping.of_agent(agent.id, ArchivalSearch(query="dog"))
    assert ([hit.content for hit in found.results], found.search) == (["Rex is a dog."], "asleep")
    assert sleeping.of_agent(agent.id, ArchivalSearch(query=" ")).search is None


def test_an_agent_is_told_that_its_index_sleeps(tmp_path: Path) -> None:
    search = calls(("conversation_search", {"query": "parrot"}))
    world = World(data_in(tmp_path, in_turn(says("Hm."), search, says("Done."))))
    world.chain.calls._lookups.recall = MemoryTools(world.stores, world.host, asleep(world.stores))
    agent_id = world.make_agent(tools=("conversation_search",))
    world.send(agent_id, "My parrot speaks Latin.")
    world.send(agent_id, "What speaks Latin?")
    (answer,) = [row.tool_returns[0].func_response or "" for row in world.log(agent_id) if row.role == "tool"]
    assert "My parrot speaks Latin." in answer
    assert "asleep" in answer


def test_where_too_many_archives_are_looked_at_the_newest_may_be_missing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = [house.agent() for _ in range(3)]
    for agent in agents:
        house.services.passages.create_for(agent.id, CreatePassage(text="fact"))
    hits, told = house.services.searches.passages(PassageSearch())
    assert (len(hits), told) == (3, None)
    monkeypatch.setattr(search_api, "MOST_PLACES", 2)
    hits, told = house.services.searches.passages(PassageSearch())
    assert (len(hits), told) == (2, "incomplete")
    monkeypatch.setattr(search_api, "MOST_READ", 1)
    hits, told = house.services.searches.passages(PassageSearch(agent_id=agents[0].id, tags=["none"]))
    assert (hits, told) == ([], "incomplete")
