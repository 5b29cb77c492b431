"""Searching through the SDK: archival memory, all passages, all messages (Letta V1 API, API 2.8 and 2.15; RT 7)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from letta_client import BadRequestError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import Indexed, Make, Said, calls

NO_AGENT = "agent-00000000-0000-4000-8000-000000000000"
NO_ARCHIVE = "archive-00000000-0000-4000-8000-000000000000"
Facts = Callable[..., Any]
MODES: tuple[Any, ...] = ("hybrid", "fts", "vector")


@pytest.fixture
def keeper(client: Letta, new_agent: Make, indexed: Indexed) -> Any:
    """An agent with facts in two archives, which the index knows."""
    agent, shelf = new_agent(timezone="Asia/Tokyo"), client.archives.create(name="shelf")
    facts: tuple[tuple[str, list[str], int], ...] = (
        ("The ferry to Bergen leaves at noon.", ["travel", "boats"], 2020),
        ("Otto the cat sleeps on the radiator.", ["pets"], 2021),
    )
    for text, tags, year in facts:
        client.agents.passages.create(agent.id, text=text, tags=tags, created_at=f"{year}-06-01T12:00:00Z")
    client.agents.archives.attach(shelf.id, agent_id=agent.id)
    more: list[Any] = [
        {"text": "Bergen has rain on most days.", "tags": ["travel"], "created_at": "2022-06-01T12:00:00Z"},
        {"text": "The radiator in the hall is broken.", "tags": ["house"], "created_at": "2023-06-01T12:00:00Z"},
    ]
    client.archives.passages.create_many(shelf.id, passages=more)
    indexed()
    return agent


@pytest.mark.manifest("passages.search_agent", "passages.search_agent.filters", "archives.several")
@pytest.mark.deployed
def test_an_agents_archives_are_searched_together(client: Letta, keeper: Any) -> None:
    def found(query: str, **asked: Any) -> list[str]:
        answer = client.agents.passages.search(keeper.id, query=query, **asked)
        assert answer.count == len(answer.results)
        return [one.content for one in answer.results]

    ferry, cat, rain, radiator = (one.text for one in client.agents.passages.list(keeper.id))
    assert set(found("Bergen")[:2]) == {ferry, rain}
    assert found("Bergen", top_k=1)[0] in (ferry, rain)
    assert set(found("radiator")[:2]) == {cat, radiator}
    assert found("Bergen", tags=["boats", "unknown"]) == [ferry]
    assert found("Bergen", tags=["travel", "boats"], tag_match_mode="all") == [ferry]
    assert found("Bergen", tags=["unknown"]) == []
    assert found("Bergen", start_datetime="2021-01-01", end_datetime="2022-06-01T21:00:00")[0] == rain, "in the agent's zone"
    assert rain not in found("Bergen", start_datetime="2021-01-01", end_datetime="2022-06-01T20:59:59")
    assert rain in found("Bergen", end_datetime="2022-06-01"), "a date alone means its last moment"
    assert found("  ") == []
    assert found("Bergen " * 5_000)[0] in (ferry, rain)
    (hit,) = client.agents.passages.search(keeper.id, query="ferry", tags=["boats"]).results
    assert (hit.timestamp, hit.tags) == ("2020-06-01T21:00:00+09:00", ["travel", "boats"])


@pytest.mark.manifest("passages.search_agent")
@pytest.mark.deployed
def test_what_cannot_be_searched_for_is_refused(client: Letta, http: httpx.Client, keeper: Any) -> None:
    route = f"/v1/agents/{keeper.id}/archival-memory/search"
    for asked, status in (
        ({}, 422),
        ({"query": "x", "search_mode": "magic"}, 422),
        ({"query": "x", "tag_match_mode": "some"}, 422),
        ({"query": "x", "top_k": 0}, 422),
        ({"query": "x", "top_k": 101}, 422),
        ({"query": "x", "start_datetime": "soon"}, 400),
        ({"query": "x", "start_datetime": "2022-01-01", "end_datetime": "2021-01-01"}, 400),
    ):
        refused = http.get(route, params=asked)
        assert (refused.status_code, bool(refused.json()["detail"])) == (status, True), asked
    assert http.get(route, params={"query": ""}).json() == {"results": [], "count": 0, "search": None}
    assert http.get(route, params={"query": "?!… --"}).status_code == 200
    with pytest.raises(NotFoundError):
        client.agents.passages.search(NO_AGENT, query="x")


@pytest.mark.manifest("passages.search", "passages.search.places", "passages.search.scores")
def test_passages_are_searched_in_an_agent_in_an_archive_and_everywhere(client: Letta, http: httpx.Client, keeper: Any) -> None:
    (shelf,) = (one.id for one in client.archives.list(agent_id=keeper.id, name="shelf").items)
    (own,) = (one.id for one in client.archives.list(agent_id=keeper.id).items if one.id != shelf)
    for mode in MODES:
        body = {"query": "ferry to Bergen", "agent_id": keeper.id, "search_mode": mode}
        hits = http.post("/v1/passages/search", json=body).json()
        assert hits[0]["passage"]["text"] == "The ferry to Bergen leaves at noon."
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] > 0
        assert set(hits[0]["metadata"]) == {"combined_score", "vector_rank", "fts_rank"}
        assert hits[0]["metadata"]["combined_score"] == scores[0]
    texts = {hit.passage.text for hit in client.passages.search(query="Bergen", archive_id=shelf)}
    assert "Bergen has rain on most days." in texts
    assert "The ferry to Bergen leaves at noon." not in texts
    both = client.passages.search(query="ferry", agent_id=keeper.id, archive_id=shelf)
    assert both[0].passage.archive_id == own, "the agent goes before the archive"
    assert {own, shelf} <= {hit.passage.archive_id for hit in client.passages.search(query="Bergen ferry rain radiator")}
    assert "Bergen" in client.passages.search(query="Bergen " * 150_000, agent_id=keeper.id)[0].passage.text
    for missing in ({"agent_id": NO_AGENT}, {"archive_id": NO_ARCHIVE}):
        with pytest.raises(NotFoundError):
            client.passages.search(query="x", **missing)
    with pytest.raises(UnprocessableEntityError):
        client.passages.search(query="x", limit=101)
    with pytest.raises(BadRequestError):
        client.passages.search(query="x", start_date="2022-01-01", end_date="2021-01-01")


@pytest.mark.manifest("passages.search", "messages.search")
@pytest.mark.deployed
def test_what_was_just_written_is_found_and_goes_on_being_found(
    client: Letta, new_agent: Make, said: Said, indexed: Indexed
) -> None:
    agent, archive = new_agent(), client.archives.create(name="fresh")
    many: list[Any] = [{"text": f"Shelf {number} holds jars of plums."} for number in range(40)]

    def ranks(text: str) -> list[int | None]:
        """Where the text stands by words and by meaning, first in what is found."""
        (first, *_) = client.passages.search(query=text, archive_id=archive.id)
        assert first.passage.text == text
        metadata: dict[str, Any] = first.metadata or {}
        return [metadata["fts_rank"], metadata["vector_rank"]]

    client.archives.passages.create_many(archive.id, passages=many)
    assert ranks("Shelf 7 holds jars of plums.")[0] == 1
    said.next({"content": "Plums, then."})
    client.agents.messages.create(agent.id, input="The jars hold plums.")
    assert client.messages.search(query="plums", agent_id=agent.id)
    indexed()
    assert ranks("Shelf 7 holds jars of plums.") == [1, 1], "also of more than a search embeds by itself"
    assert client.messages.search(query="plums", agent_id=agent.id)
    client.archives.delete(archive.id)
    assert archive.id not in {hit.passage.archive_id for hit in client.passages.search(query="plums")}
    indexed()
    assert archive.id not in {hit.passage.archive_id for hit in client.passages.search(query="plums")}


@pytest.mark.manifest("passages.search.newest")
def test_without_words_the_newest_passages_come(client: Letta, keeper: Any) -> None:
    def found(**asked: Any) -> list[int]:
        hits = client.passages.search(agent_id=keeper.id, **asked)
        assert all(hit.score == 0 for hit in hits)
        return [hit.passage.created_at.year for hit in hits if hit.passage.created_at]

    assert found() == found(query=" ") == [2023, 2022, 2021, 2020]
    assert found(limit=1) == [2023]
    assert found(tags=["travel"]) == [2022, 2020]
    assert found(tags=["travel", "boats"], tag_match_mode="all") == [2020]
    assert found(start_date="2021-01-01", end_date="2022-06-01") == [2022, 2021]
    assert len(client.passages.search(limit=3)) == 3


@pytest.fixture
def talker(client: Letta, new_agent: Make, said: Said, indexed: Indexed) -> tuple[Any, str]:
    """An agent that was told of a parrot in its own conversation and of a submarine in another, which the index knows."""
    agent = new_agent(project_id="proj-search")
    conversation = client.conversations.create(agent_id=agent.id)
    said.next({"content": "A parrot, how colourful."})
    client.agents.messages.create(agent.id, input="My parrot speaks Latin.")
    said.next({"content": "Deep down."})
    stream = client.conversations.messages.create(conversation.id, input="The submarine is yellow.")
    assert [*stream]
    indexed()
    return agent, conversation.id


@pytest.mark.manifest("messages.search", "messages.search.filters", "messages.search.scores")
def test_messages_are_searched_in_all_conversations(client: Letta, http: httpx.Client, talker: tuple[Any, str]) -> None:
    agent, conversation = talker
    asked: dict[str, Any] = {"agent_id": agent.id}

    def found(query: str, **more: Any) -> list[str]:
        return [str(getattr(hit, "content", "")) for hit in client.messages.search(query=query, **asked, **more)]

    for mode in MODES:
        assert found("parrot Latin", search_mode=mode)[0] == "My parrot speaks Latin."
    assert set(found("parrot")[:2]) == {"My parrot speaks Latin.", "A parrot, how colourful."}
    assert found("yellow submarine", conversation_id=conversation)[0] == "The submarine is yellow."
    assert "The submarine is yellow." not in found("yellow submarine", conversation_id="default")
    assert "My parrot speaks Latin." not in found("parrot", conversation_id=conversation)
    assert found("parrot", end_date="2001-01-01") == found("parrot", start_date="2101-01-01") == found("  ") == []
    assert len(found("parrot", limit=1)) == 1
    assert client.messages.search(query="parrot Latin", conversation_id="default") != []
    (hit, *_) = http.post("/v1/messages/search", json={"query": "yellow submarine", **asked}).json()
    assert (hit["message_type"], hit["agent_id"], hit["conversation_id"]) == ("user_message", agent.id, conversation)
    assert hit["score"] > 0
    assert hit["fts_rank"] == 1
    assert client.messages.retrieve(hit["message_id"])[0].message_type == "user_message"


@pytest.mark.manifest("messages.search")
@pytest.mark.deployed
def test_a_search_of_messages_that_makes_no_sense_is_refused(client: Letta, http: httpx.Client) -> None:
    for body, status in (
        ({}, 422),
        ({"query": "x", "search_mode": "magic"}, 422),
        ({"query": "x", "limit": 0}, 422),
        ({"query": "x", "limit": 101}, 422),
        ({"query": "x", "agent_id": "agent-1"}, 422),
        ({"query": "x", "agent_id": NO_AGENT}, 404),
        ({"query": "x", "start_date": "2022-01-02", "end_date": "2022-01-01"}, 400),
    ):
        assert http.post("/v1/messages/search", json=body).status_code == status, body
    assert client.messages.search(query="x", start_date="2022-01-01", end_date="2022-01-01") == []


@pytest.mark.manifest("messages.search.agents")
@pytest.mark.deployed
def test_the_rows_themselves_are_found_by_role_and_project(http: httpx.Client, talker: tuple[Any, str]) -> None:
    agent, _ = talker
    asked = {"query": "parrot", "agent_id": agent.id, "project_id": "proj-search"}
    hits = http.post("/v1/agents/messages/search", json={**asked, "roles": ["assistant"]}).json()
    assert hits[0]["embedded_text"] == "A parrot, how colourful."
    assert {hit["message"]["role"] for hit in hits} == {"assistant"}
    assert set(hits[0]) == {"embedded_text", "message", "fts_rank", "vector_rank", "rrf_score"}
    assert http.post("/v1/agents/messages/search", json={**asked, "project_id": "another"}).json() == []
    assert http.post("/v1/agents/messages/search", json={**asked, "roles": ["judge"]}).status_code == 422


@pytest.mark.manifest("messages.search.tool", "messages.search.tool.exclusions")
def test_an_agent_searches_what_was_said_by_words_roles_and_dates(client: Letta, talker: tuple[Any, str], said: Said) -> None:
    agent, _ = talker

    def searched(**args: Any) -> Any:
        said.next(calls(("conversation_search", args)), {"content": "Well."})
        answer = client.agents.messages.create(agent.id, input="Do you remember?")
        (returned,) = [one for one in answer.messages if one.message_type == "tool_return_message"]
        return ast.literal_eval(returned.tool_return) if returned.status == "success" else returned.tool_return

    found = searched(query="parrot", limit=2)
    assert found["message"] == "Showing 2 results:"
    assert {one["content"] for one in found["results"]} == {"My parrot speaks Latin.", "A parrot, how colourful."}
    first = found["results"][0]
    assert set(first) == {"timestamp", "time_ago", "role", "relevance", "content"}
    assert set(first["relevance"]) == {"rrf_score", "vector_rank", "fts_rank", "search_mode"}
    only = searched(query="parrot", roles=["assistant"])["results"]
    assert only[0]["content"] == "A parrot, how colourful."
    assert {one["role"] for one in only} == {"assistant"}
    assert searched(query="parrot", roles=["tool"]) == {"message": "No results found.", "results": []}
    assert searched(query="parrot", end_date="2001-01-01")["results"] == []
    newest = searched(limit=100)["results"]
    assert "The submarine is yellow." in [one["content"] for one in newest]
    assert not [one for one in newest if "relevance" in one or "conversation_search" in str(one)]
    assert "ISO 8601" in searched(query="parrot", start_date="soon")
    assert "ends before it begins" in searched(query="parrot", start_date="2022-01-02", end_date="2022-01-01")


@pytest.mark.manifest("search.standing")
@pytest.mark.deployed
def test_a_search_says_what_it_could_not_do(http: httpx.Client, profile: str, keeper: Any) -> None:
    for found in (
        http.get(f"/v1/agents/{keeper.id}/archival-memory/search", params={"query": "Bergen"}),
        http.post("/v1/passages/search", json={"query": "Bergen"}),
        http.post("/v1/messages/search", json={"query": "Bergen"}),
    ):
        assert found.status_code == 200
        assert "x-hibernaut-search" not in found.headers
    config = {"embedding_model": "gone", "embedding_endpoint_type": "anthropic", "embedding_dim": 8}
    archive = http.post("/v1/archives/", json={"name": "without an embedder", "embedding_config": config}).json()["id"]
    http.post(f"/v1/archives/{archive}/passages", json={"text": "The needle lies here."})
    found = http.post("/v1/passages/search", json={"query": "needle", "archive_id": archive})
    assert [hit["passage"]["text"] for hit in found.json()] == ["The needle lies here."]
    assert found.headers["x-hibernaut-search"] == "words-only"
