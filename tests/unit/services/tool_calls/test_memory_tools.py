"""The tools that search and put away, as an agent calls them: what they take, what they refuse, what they answer."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from hibernaut.domain.tools.builtin.builtin_tools import builtin_id
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.memory.passage import CreatePassage
from tests.support.house import House
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import World, data_in

TOOLS = ("conversation_search", "archival_memory_insert", "archival_memory_search")


@pytest.fixture
def agent(house: House) -> StoredAgent:
    return house.agent(tool_ids=[builtin_id(name) for name in TOOLS], timezone="Europe/Oslo")


def called(house: House, agent: StoredAgent, name: str, **args: object) -> tuple[str, Any]:
    result = house.services.tools.runs.run_attached(agent.id, name, args)
    return result.status, result.func_return if result.status == "success" else "".join(result.stderr or [])


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("archival_memory_insert", {"content": "  "}, "empty"),
        ("archival_memory_insert", {"content": "word " * 9000}, "8192 tokens"),
        ("archival_memory_insert", {"content": "x", "tags": "pets"}, "list of texts"),
        ("archival_memory_search", {"query": 5}, "must be a text"),
        ("archival_memory_search", {"query": "x", "top_k": 0}, "whole number"),
        ("archival_memory_search", {"query": "x", "start_datetime": "soon"}, "ISO 8601"),
        ("archival_memory_search", {"query": "x", "start_datetime": "2026-01-02", "end_datetime": "2026-01-01"}, "before it begins"),
        ("conversation_search", {"query": "x", "limit": True}, "whole number"),
        ("conversation_search", {"query": "x", "roles": ["judge"]}, "assistant, user, tool"),
        ("conversation_search", {"end_date": "2026-02-30"}, "ISO 8601"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_to_the_model(
    house: House, agent: StoredAgent, name: str, args: dict[str, object], told: str
) -> None:
    status, text = called(house, agent, name, **args)
    assert (status, told in text) == ("error", True), text
    assert "INVALID_ARGUMENT" not in text


def test_an_archival_search_answers_in_the_shape_of_v1(house: House, agent: StoredAgent) -> None:
    given = CreatePassage.model_validate({"text": "Rex is a dog.", "tags": ["pets"], "created_at": "2026-03-01T12:00:00Z"})
    (passage,) = house.services.passages.create_for(agent.id, given)
    status, found = called(house, agent, "archival_memory_search", query="dog")
    (hit,) = ast.literal_eval(found)
    relevance = hit.pop("relevance")
    assert (status, hit) == (
        "success",
        {"id": passage.id, "timestamp": "2026-03-01T13:00:00+01:00", "content": "Rex is a dog.", "tags": ["pets"]},
    )
    assert relevance.keys() == {"rrf_score", "vector_rank", "fts_rank"}
    assert relevance["fts_rank"] == 1
    assert called(house, agent, "archival_memory_search", query=" ") == ("success", "[]")
    assert called(house, agent, "archival_memory_search", query="dog", tags=["cars"]) == ("success", "[]")
    assert called(house, agent, "archival_memory_search", query="dog", end_datetime="2026-02-28") == ("success", "[]")
    assert "Rex" in called(house, agent, "archival_memory_search", query="dog", end_datetime="2026-03-01")[1]


def test_a_search_finds_what_the_same_step_puts_away(tmp_path: Path) -> None:
    both = calls(
        ("archival_memory_insert", {"content": "Rex is a dog.", "tags": ["pets"]}),
        ("archival_memory_search", {"query": "dog Rex"}),
        ("archival_memory_search", {"query": "dog Rex", "tags": ["cars"]}),
    )
    world = World(data_in(tmp_path, in_turn(both, says("Done."))))
    agent_id = world.make_agent(tools=TOOLS)
    world.send(agent_id, "Remember Rex")
    (returns,) = [row.tool_returns for row in world.log(agent_id) if row.role == "tool"]
    assert "Rex is a dog." in (returns[1].func_response or "")
    assert "Rex is a dog." not in (returns[2].func_response or "")
    assert world.stores.archives.totals(agent_id).tags == ("pets",)


def test_recall_without_a_query_is_the_newest_and_never_its_own_calls(tmp_path: Path) -> None:
    search = calls(("conversation_search", {"limit": 3}))
    world = World(data_in(tmp_path, in_turn(says("One."), says("Two."), search, says("Three."))))
    agent_id = world.make_agent(tools=TOOLS)
    for text in ("first", "second", "third"):
        world.send(agent_id, text)
    (returns,) = [row.tool_returns for row in world.log(agent_id) if row.role == "tool"]
    answer = returns[0].func_response or ""
    assert "Showing 3 results:" in answer
    places = [answer.index(text) for text in ("third", "Two.", "second")]
    assert places == sorted(places)
    assert "first" not in answer
    assert "relevance" not in answer
    assert "conversation_search" not in answer
