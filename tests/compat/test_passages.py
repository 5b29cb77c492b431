"""Passages through the SDK: of archives, and of agents (Letta V1 API, API 2.8 and 2.11)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from letta_client import BadRequestError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import Make, Said, calls
from tests.support.memory_reader import newest_update

MISSING = "passage-00000000-0000-4000-8000-000000000000"
NO_AGENT = "agent-00000000-0000-4000-8000-000000000000"


@pytest.mark.manifest("archives.passages.create", "archives.passages.delete", "passages.shape")
def test_a_passage_is_put_into_an_archive_and_taken_out(client: Letta) -> None:
    archive = client.archives.create(name="one")
    passage = client.archives.passages.create(
        archive.id, text="Ann likes tea.", tags=["drinks", "Ann", "drinks"], metadata={"a": 1}, created_at="2020-02-03T04:05:06Z"
    )
    assert (passage.text, passage.tags, passage.metadata) == ("Ann likes tea.", ["drinks", "Ann"], {"a": 1})
    assert (passage.archive_id, passage.is_deleted, passage.file_id) == (archive.id, False, None)
    assert passage.created_at == datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert passage.embedding is None
    assert passage.embedding_config == archive.embedding_config
    assert passage.id is not None
    assert client.archives.passages.delete(passage.id, archive_id=archive.id) is None
    with pytest.raises(NotFoundError):
        client.archives.passages.delete(passage.id, archive_id=archive.id)
    assert client.passages.search(archive_id=archive.id) == []


@pytest.mark.manifest("archives.passages.batch", "archives.passages.batch.pages")
def test_many_passages_are_put_away_in_order(client: Letta) -> None:
    archive = client.archives.create(name="many")
    assert client.archives.passages.create_many(archive.id, passages=[]) == []
    given: list[Any] = [{"text": f"fact {number}", "tags": [str(number % 2)]} for number in range(200)]
    made = client.archives.passages.create_many(archive.id, passages=given)
    assert [one.text for one in made] == [one["text"] for one in given]
    found = client.passages.search(archive_id=archive.id, limit=100)
    assert [hit.passage.text for hit in found] == [f"fact {number}" for number in range(199, 99, -1)]


@pytest.mark.manifest("archives.passages.batch")
def test_one_that_cannot_be_put_away_keeps_all_others_out(client: Letta) -> None:
    archive = client.archives.create(name="none")
    good: list[Any] = [{"text": f"fact {number}"} for number in range(95)]
    for bad in ({"text": "  "}, {"text": "word " * 9000}, {"text": "x", "tags": [""]}):
        with pytest.raises(BadRequestError):
            client.archives.passages.create_many(archive.id, passages=[*good, bad])  # type: ignore[list-item]
    assert client.passages.search(archive_id=archive.id) == []


@pytest.mark.manifest("passages.limits")
def test_what_is_no_passage_is_refused(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent, archive = new_agent(), client.archives.create(name="strict")
    routes = (f"/v1/agents/{agent.id}/archival-memory", f"/v1/archives/{archive.id}/passages")
    for route in routes:
        for body, status in (
            ({}, 422),
            ({"text": 5}, 422),
            ({"text": "x", "created_at": "yesterday"}, 422),
            ({"text": "x", "tags": "drinks"}, 422),
            ({"text": ""}, 400),
            ({"text": "word " * 8193}, 400),
            ({"text": "x" * 1_000_000}, 400),
            ({"text": "x", "tags": ["t" * 201]}, 400),
            ({"text": "x", "tags": [str(number) for number in range(51)]}, 400),
        ):
            refused = http.post(route, json=body)
            assert refused.status_code == status, body
            assert refused.json()["detail"]
        assert http.post(route, json={"text": "word " * 8000}).status_code == 200
    assert http.post(f"/v1/agents/{NO_AGENT}/archival-memory", json={"text": "x"}).status_code == 404


@pytest.mark.manifest("passages.create", "passages.create.archive", "passages.delete")
@pytest.mark.deployed
def test_an_agents_first_passage_makes_its_archive(client: Letta, new_agent: Make) -> None:
    agent = new_agent(name="Keeper")
    (first,) = client.agents.passages.create(agent.id, text="one", tags=["a"], created_at=datetime(2019, 1, 1, tzinfo=UTC))
    (second,) = client.agents.passages.create(agent.id, text="two")
    assert first.archive_id == second.archive_id
    assert first.created_at == datetime(2019, 1, 1, tzinfo=UTC)
    (archive,) = client.archives.list(agent_id=agent.id).items
    assert (archive.id, archive.name) == (first.archive_id, "Keeper's Archive")
    assert first.id is not None
    answer: Any = client.agents.passages.delete(first.id, agent_id=agent.id)
    assert first.id in answer["message"]
    for missing in (first.id, MISSING):
        with pytest.raises(NotFoundError):
            client.agents.passages.delete(missing, agent_id=agent.id)
    assert [one.id for one in client.agents.passages.list(agent.id)] == [second.id]


@pytest.mark.manifest("passages.create.archive")
@pytest.mark.deployed
def test_passages_go_into_the_first_archive_that_was_attached(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    one, two = (client.archives.create(name=name).id for name in ("first", "second"))
    for archive in (two, one):
        client.agents.archives.attach(archive, agent_id=agent.id)
    assert client.agents.passages.create(agent.id, text="x")[0].archive_id == two
    client.agents.archives.detach(two, agent_id=agent.id)
    assert client.agents.passages.create(agent.id, text="y")[0].archive_id == one
    client.agents.archives.detach(one, agent_id=agent.id)
    own = client.agents.passages.create(agent.id, text="z")[0].archive_id
    assert own not in (None, one, two)
    client.agents.archives.detach(str(own), agent_id=agent.id)
    assert client.agents.passages.list(agent.id) == []
    assert client.agents.passages.create(agent.id, text="z")[0].archive_id not in (None, own, one, two)


@pytest.mark.manifest("passages.list.bounded")
def test_a_text_is_found_however_many_passages_there_are(
    client: Letta, http: httpx.Client, new_agent: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = new_agent()
    for number in range(5):
        client.agents.passages.create(agent.id, text=f"Fact {number}")
    monkeypatch.setattr("hibernaut.services.memory.passages.MOST_READ", 2)
    for ascending, text in ((True, "fact 4"), (False, "fact 0")):
        asked, found, told = {"search": text, "ascending": ascending}, list[str](), list[str]()
        while True:
            page = http.get(f"/v1/agents/{agent.id}/archival-memory", params=asked)
            found += [one["text"].lower() for one in page.json()]
            if "x-hibernaut-next" not in page.headers:
                break
            cursor, _, place = page.headers["x-hibernaut-next"].partition("=")
            asked[cursor] = place
            told.append(cursor)
        assert (found, told) == ([text], ["after" if ascending else "before"] * 2)
    assert len(client.agents.passages.list(agent.id)) == 5, "without a text a page is as long as it is asked for"


@pytest.mark.manifest("passages.list", "passages.list.cursors")
def test_an_agents_passages_are_listed_by_their_times(client: Letta, new_agent: Make) -> None:
    agent, archive = new_agent(), client.archives.create(name="second")
    years = (2021, 2019, 2023, 2020, 2022)
    (own,) = client.agents.passages.create(agent.id, text="in 2018", created_at=datetime(2018, 1, 1, tzinfo=UTC))
    client.agents.archives.attach(archive.id, agent_id=agent.id)
    for year in years:
        client.archives.passages.create(archive.id, text=f"In {year}", created_at=f"{year}-01-01T00:00:00Z")

    def listed(**asked: Any) -> list[str]:
        return [one.text for one in client.agents.passages.list(agent.id, **asked)]

    texts = ["in 2018", *(f"In {year}" for year in sorted(years))]
    ids = [str(one.id) for one in client.agents.passages.list(agent.id)]
    assert ids[0] == own.id
    assert listed() == texts
    assert listed(ascending=False) == texts[::-1]
    assert listed(limit=2) == texts[:2]
    assert listed(limit=2, after=ids[1]) == texts[2:4]
    assert listed(limit=2, ascending=False, before=ids[3]) == [texts[2], texts[1]]
    assert listed(after=ids[0], before=ids[3]) == texts[1:3]
    assert listed(search="IN 202") == texts[2:]
    assert listed(search="in 202", limit=1, ascending=False) == texts[-1:]
    assert listed(search="nowhere") == listed(limit=0) == []
    with pytest.raises(BadRequestError):
        listed(after="yesterday")
    with pytest.raises(UnprocessableEntityError):
        listed(limit=-1)
    with pytest.raises(NotFoundError):
        client.agents.passages.list(NO_AGENT)


@pytest.mark.manifest("passages.prompt")
def test_the_prompt_of_the_next_run_tells_of_what_was_put_away_and_taken_out(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    archive = client.archives.create(name="another")

    def prompt() -> str:
        client.agents.messages.create(agent.id, input="Hello")
        body = said.server.requests[-1].body
        return newest_update(body) or str(body["messages"][0]["content"])

    assert "archival memory" not in prompt()
    (passage,) = client.agents.passages.create(agent.id, text="one", tags=["drinks"])
    told = prompt()
    assert "- 1 total memories" in told
    assert "drinks" in told
    assert prompt() == told, "nothing changed"
    client.archives.passages.create_many(archive.id, passages=[{"text": "two"}, {"text": "three", "tags": ["food"]}])
    assert prompt() == told
    client.agents.archives.attach(archive.id, agent_id=agent.id)
    assert "- 3 total memories" in (told := prompt())
    assert "drinks, food" in told
    client.agents.passages.delete(str(passage.id), agent_id=agent.id)
    told = prompt()
    assert "- 2 total memories" in told
    assert "tags: food" in told
    client.archives.delete(archive.id)
    assert "- 0 total memories" in (told := prompt())
    assert "tags: (none)" in told


@pytest.mark.manifest("passages.tools.insert", "passages.tools.search")
@pytest.mark.deployed
def test_an_agent_puts_away_and_finds_with_its_tools(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(tools=["archival_memory_insert", "archival_memory_search"], timezone="Europe/Oslo")
    said.next(
        calls(("archival_memory_insert", {"content": "Rex is a dog.", "tags": ["pets"]})),
        calls(("archival_memory_search", {"query": "dog", "tags": ["pets"], "tag_match_mode": "all", "top_k": 3})),
        calls(("archival_memory_search", {"query": "dog", "end_datetime": "2001-01-01"})),
        calls(("archival_memory_search", {"query": "dog", "start_datetime": "soon"})),
        {"content": "Done."},
    )
    answer = client.agents.messages.create(agent.id, input="Remember Rex")
    inserted, found, before, refused = [one for one in answer.messages if one.message_type == "tool_return_message"]
    (passage,) = client.agents.passages.list(agent.id)
    assert inserted.tool_return == "None"
    for part in (passage.id, "'content': 'Rex is a dog.'", "'tags': ['pets']", "'timestamp': '20", "'relevance': {'rrf_score': "):
        assert str(part) in found.tool_return
    assert before.tool_return == "[]"
    assert (refused.status, "ISO 8601" in refused.tool_return) == ("error", True)
