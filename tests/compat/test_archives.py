"""Archives through the SDK (Letta V1 API, API 2.7, 2.11 and 3)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import Make

MISSING = "archive-00000000-0000-4000-8000-000000000000"


@pytest.mark.manifest("archives.create", "archives.retrieve", "archives.update", "archives.delete")
@pytest.mark.deployed
def test_an_archive_is_made_read_changed_and_deleted(client: Letta) -> None:
    archive = client.archives.create(name="Notes", description="of all kinds")
    assert (archive.name, archive.description, archive.vector_db_provider) == ("Notes", "of all kinds", "native")
    assert archive.id.startswith("archive-")
    assert client.archives.retrieve(archive.id) == archive
    after = client.archives.update(archive.id, name="Other notes", description=None)
    assert (after.name, after.description) == ("Other notes", "of all kinds")
    assert client.archives.retrieve(archive.id).name == "Other notes"
    assert [one.id for one in client.archives.list(name="Other notes")] == [archive.id]
    assert client.archives.delete(archive.id) is None
    for gone in (client.archives.retrieve, client.archives.delete, client.archives.update):
        with pytest.raises(NotFoundError):
            gone(archive.id)
    assert [one.id for one in client.archives.list(name="Other notes")] == []


@pytest.mark.manifest("archives.create.embedding")
def test_how_an_archive_embeds_is_said_when_it_is_made(client: Letta, http: httpx.Client) -> None:
    default = client.models.embeddings.list()[0]
    assert client.archives.create(name="by default").embedding_config.handle == default.handle  # type: ignore[union-attr]
    named = client.archives.create(name="by handle", embedding=default.handle)
    assert named.embedding_config is not None
    assert named.embedding_config.embedding_dim == default.embedding_dim
    config: Any = {"embedding_model": "m", "embedding_endpoint_type": "openai", "embedding_dim": 8}
    given = client.archives.create(name="by config", embedding_config=config)
    assert given.embedding_config is not None
    assert (given.embedding_config.embedding_model, given.embedding_config.embedding_dim) == ("m", 8)
    with pytest.raises(NotFoundError, match="nobody/nothing"):
        client.archives.create(name="by no handle", embedding="nobody/nothing")
    assert http.post("/v1/archives/", json={}).status_code == 422
    for null in ({"embedding": None}, {"embedding_config": None}):
        archive = http.post("/v1/archives/", json={"name": "by words", **null}).json()
        assert archive["embedding_config"] is None
        client.archives.passages.create(archive["id"], text="The key hangs behind the clock.")
        found = client.passages.search(query="clock", archive_id=archive["id"])
        assert [row.passage.text for row in found] == ["The key hangs behind the clock."]
    assert http.post("/v1/archives/", json={"name": "n", "embedding_config": {**config, "embedding_dim": 0}}).status_code == 422


@pytest.mark.manifest("archives.list")
def test_archives_are_listed_in_pages(client: Letta) -> None:
    made = [client.archives.create(name="page of archives").id for _ in range(5)]
    assert [one.id for one in client.archives.list(name="page of archives", limit=2)] == made[::-1], "the SDK follows the cursor"
    assert client.archives.list(name="page of archives", limit=2).items[0].id == made[4]
    assert [one.id for one in client.archives.list(name="page of archives", order="asc")] == made
    assert [one.id for one in client.archives.list(name="page of archives", order="asc", after=made[3])] == made[4:]
    assert [one.id for one in client.archives.list(name="page of archives", before=made[3]).items] == [made[4]]
    with pytest.raises(NotFoundError):
        client.archives.list(after=MISSING)
    with pytest.raises(UnprocessableEntityError):
        client.archives.retrieve("archive-1")


@pytest.mark.manifest("archives.list.order")
def test_an_agents_own_archive_is_listed_where_the_agent_stands(client: Letta, new_agent: Make) -> None:
    agent, shelf = new_agent(), client.archives.create(name="shelf")
    client.agents.passages.create(agent.id, text="A fact.")
    client.agents.archives.attach(shelf.id, agent_id=agent.id)
    first, second = client.archives.list(agent_id=agent.id, order="asc").items
    assert (second.id, first.created_at > second.created_at) == (shelf.id, True)
    for archive in (first, second):
        client.archives.delete(archive.id)


@pytest.mark.manifest("archives.attach", "archives.detach", "archives.agents", "archives.list.agent")
def test_an_archive_is_attached_and_taken_away(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent, other = new_agent(), new_agent()
    archive = client.archives.create(name="shared")
    for _ in range(2):
        assert client.agents.archives.attach(archive.id, agent_id=agent.id) is None
    client.agents.archives.attach(archive.id, agent_id=other.id)
    assert [one.id for one in client.archives.list(agent_id=agent.id)] == [archive.id]
    agents = http.get(f"/v1/archives/{archive.id}/agents").json()
    assert [one["id"] for one in agents] == [other.id, agent.id]
    assert http.get(f"/v1/archives/{archive.id}/agents", params={"order": "asc", "limit": 1}).json()[0]["id"] == agent.id
    client.agents.delete(other.id)
    assert [one["id"] for one in http.get(f"/v1/archives/{archive.id}/agents").json()] == [agent.id]
    for _ in range(2):
        assert client.agents.archives.detach(archive.id, agent_id=agent.id) is None
    assert client.archives.list(agent_id=agent.id).items == []
    for call in (client.agents.archives.attach, client.agents.archives.detach):
        with pytest.raises(NotFoundError):
            call(MISSING, agent_id=agent.id)
        with pytest.raises(NotFoundError):
            call(archive.id, agent_id="agent-00000000-0000-4000-8000-000000000000")


@pytest.mark.manifest("archives.delete.passages")
@pytest.mark.deployed
def test_a_deleted_archive_takes_its_passages_along_and_leaves_its_agents(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    archive = client.archives.create(name="to be deleted")
    client.agents.archives.attach(archive.id, agent_id=agent.id)
    client.archives.passages.create_many(archive.id, passages=[{"text": f"zebra {number}"} for number in range(3)])
    assert len(client.passages.search(query="zebra", agent_id=agent.id)) == 3
    client.archives.delete(archive.id)
    assert client.agents.passages.list(agent.id) == []
    assert client.passages.search(query="zebra") == []
    assert client.archives.list(agent_id=agent.id).items == []
    with pytest.raises(APIStatusError):
        client.archives.passages.create(archive.id, text="too late")
    made = client.agents.passages.create(agent.id, text="in an archive of its own")
    assert made[0].archive_id not in (None, archive.id)


@pytest.mark.manifest("archives.default.outlives")
def test_an_archive_outlives_the_agent_whose_first_passage_made_it(client: Letta, new_agent: Make) -> None:
    agent = new_agent(name="Mortal")
    (passage,) = client.agents.passages.create(agent.id, text="What is kept is kept.")
    assert passage.archive_id is not None
    client.agents.delete(agent.id)
    assert client.archives.retrieve(passage.archive_id).name == "Mortal's Archive"
    heir = new_agent()
    client.agents.archives.attach(passage.archive_id, agent_id=heir.id)
    assert [one.text for one in client.agents.passages.list(heir.id)] == ["What is kept is kept."]
