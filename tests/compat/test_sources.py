"""Folders by their old name, as the clients before the SDK's first version ask for them (API 3). Asked over HTTP."""

from __future__ import annotations

from types import SimpleNamespace

import httpx
import pytest

from tests.compat.conftest import Make
from tests.compat.reading import until_read

pytestmark = pytest.mark.usefixtures("fed")


@pytest.mark.manifest(
    "sources.create", "sources.retrieve", "sources.update", "sources.count", "sources.by_name", "sources.list", "sources.delete"
)
@pytest.mark.deployed
def test_a_source_is_a_folder(http: httpx.Client) -> None:
    before = http.get("/v1/sources/count").json()
    made = http.post("/v1/sources/", json={"name": "old birds", "description": "of all kinds"}).json()
    path = f"/v1/sources/{made['id']}"
    assert (made["id"][:7], made["description"], http.get(path).json()) == ("source-", "of all kinds", made)
    taken = http.post("/v1/sources/", json={"name": "old birds"})
    assert (taken.status_code, "already exists" in taken.json()["detail"]) == (409, True)
    assert http.get("/v1/sources/count").json() == before + 1
    assert http.get("/v1/sources/name/old birds").json() == made["id"]
    assert http.patch(path, json={"name": "new birds"}).json()["name"] == "new birds"
    assert http.get(f"/v1/folders/{made['id']}").json()["name"] == "new birds", "both names mean the same thing"
    more = [http.post("/v1/sources/", json={"name": f"many {number}"}).json()["id"] for number in range(51)]
    listed = [one["id"] for one in http.get("/v1/sources/").json()]
    assert listed[-52:] == [made["id"], *more], "without a limit there is no page"
    assert len(http.get("/v1/sources/", params={"limit": 3}).json()) == 3
    assert (http.delete(path).json(), http.get(path).status_code) == (None, 404)


@pytest.mark.manifest("sources.shape")
@pytest.mark.deployed
def test_a_source_names_its_vector_database_and_a_folder_does_not(http: httpx.Client, new_agent: Make) -> None:
    made = http.post("/v1/sources/", json={"name": "wild birds"}).json()
    path = f"/v1/sources/{made['id']}"
    agent = new_agent(folder_ids=[made["id"]])
    by_agent = [http.get(f"/v1/agents/{agent.id}/{name}").json() for name in ("folders", "sources")]
    (attached,) = http.get(f"/v1/agents/{agent.id}", params={"include": "agent.sources"}).json()["sources"]
    listed = http.get("/v1/sources/", params={"name": "wild birds"}).json()
    patched = http.patch(path, json={}).json()
    shown = [made, http.get(path).json(), patched, attached, *listed, *by_agent[0], *by_agent[1]]
    assert [source["vector_db_provider"] for source in shown] == ["native"] * 7
    assert "vector_db_provider" not in http.get(f"/v1/folders/{made['id']}").json()


@pytest.mark.manifest("sources.metadata")
def test_metadata_is_no_source(http: httpx.Client) -> None:
    assert http.get("/v1/sources/metadata").status_code == 422


@pytest.mark.manifest(
    "sources.upload",
    "sources.files.list",
    "sources.files.retrieve",
    "sources.files.delete",
    "sources.passages",
    "sources.agents",
    "sources.of_agent",
    "sources.attach",
    "sources.detach",
)
@pytest.mark.deployed
def test_a_file_of_a_source_is_polled_until_it_is_read(http: httpx.Client, new_agent: Make) -> None:
    source = http.post("/v1/sources/", json={"name": "old uploads"}).json()["id"]
    path = f"/v1/sources/{source}"
    sent = http.post(f"{path}/upload", files={"file": ("a.txt", b"The first line.", "text/plain")})
    assert (sent.status_code, sent.json()["source_id"]) == (200, source)
    file_id = sent.json()["id"]
    file = until_read(lambda: SimpleNamespace(**http.get(f"{path}/files/{file_id}", params={"include_content": True}).json()))
    assert (file.processing_status, file.content) == ("completed", "The first line.")
    assert [one["id"] for one in http.get(f"{path}/files", params={"check_status_updates": False}).json()] == [file_id]
    assert [one["text"] for one in http.get(f"{path}/passages").json()] == ["The first line."]
    agent = new_agent()
    assert http.patch(f"/v1/agents/{agent.id}/sources/attach/{source}").json()["sources"][0]["id"] == source
    assert http.get(f"{path}/agents").json() == [agent.id]
    assert [one["id"] for one in http.get(f"/v1/agents/{agent.id}/sources").json()] == [source]
    assert http.patch(f"/v1/agents/{agent.id}/sources/detach/{source}").json()["sources"] == []
    assert http.delete(f"{path}/{file_id}").status_code == 204
    assert http.get(f"{path}/files").json() == []
