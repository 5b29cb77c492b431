"""A record whose large content is missing is told: by its id in the header of a list, which has the others, and by an error where
it is read alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from hibernaut.rest.app import create_app
from hibernaut.rest.lazy_routes import LOST
from hibernaut.schemas.faults.record_faults import RecordLost
from hibernaut.store.table.lists.logs import LOST as LOST_TEXT
from hibernaut.store.table.lost_records import tolerating
from tests.support.house import House, house_in

BIG = "x" * 100_000
"""Longer than what an item holds."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as opened:
        yield opened


@pytest.fixture
def http(house: House) -> Iterator[httpx.Client]:
    with TestClient(create_app(house.all_services), base_url="http://127.0.0.1:8283") as client:
        yield client


def lose(house: House, pk: str, sk: str) -> None:
    """Delete the blob of an item behind the server's back."""
    (item,) = [one for one in house.table.query(f"default#{pk}", prefix=sk) if one["blob"]]
    house.blobs.delete(str(item["blob"]))


def test_a_list_has_the_records_beside_a_lost_one(house: House, http: httpx.Client) -> None:
    lost = http.post("/v1/blocks/", json={"label": "lost", "value": BIG}).json()["id"]
    kept = http.post("/v1/blocks/", json={"label": "kept", "value": BIG}).json()["id"]
    agent = http.post("/v1/agents/", json={"block_ids": [lost, kept]}).json()["id"]
    lose(house, f"BLOCK#{lost}", "BLOCK")
    listed = http.get("/v1/blocks/")
    assert ([one["id"] for one in listed.json()], listed.headers[LOST]) == ([kept], lost)
    agents = http.get("/v1/agents/", params={"include": ["agent.blocks"]})
    assert ([one["id"] for one in agents.json()], agents.headers[LOST]) == ([agent], lost)
    for alone in (http.get(f"/v1/blocks/{lost}"), http.get(f"/v1/agents/{agent}", params={"include": ["agent.blocks"]})):
        assert (alone.status_code, alone.json()["code"], alone.headers["x-should-retry"]) == (500, "record_lost", "false")
        assert lost in alone.json()["detail"]
    assert http.delete(f"/v1/blocks/{kept}").status_code == 200


def test_a_lost_message_has_a_text_in_its_place(house: House, http: httpx.Client) -> None:
    agent = http.post("/v1/agents/", json={}).json()["id"]
    rows = [("user", BIG), ("assistant", "Hi."), ("user", "Still there?")]
    file = house.services.agent_documents.export(agent).model_dump(mode="json")
    file["agents"][0]["messages"] += [
        {"role": role, "content": text, "id": f"message-{n}"} for n, (role, text) in enumerate(rows, 9)
    ]
    file["agents"][0]["in_context_message_ids"] += ["message-9", "message-10", "message-11"]
    agent = http.post("/v1/agents/import", json=file).json()["agent_ids"][0]
    lose(house, f"CONV#{agent}", "MSG#")
    listed = http.get(f"/v1/agents/{agent}/messages", params={"order": "asc"})
    told = [(one["message_type"], one["content"]) for one in listed.json() if one["message_type"] != "system_message"]
    assert told == [("user_message", LOST_TEXT), ("assistant_message", "Hi."), ("user_message", "Still there?")]
    assert listed.headers[LOST] == listed.json()[-3]["id"]
    assert len(http.get("/v1/messages/").json()) >= 3


def test_what_is_kept_for_others_is_never_read_without_a_lost_record(house: House, http: httpx.Client) -> None:
    agent = http.post("/v1/agents/", json={"system": BIG}).json()["id"]
    lose(house, f"CONV#{agent}", "MSG#")
    house.stores.conversations.forget(agent)
    with tolerating(), pytest.raises(RecordLost, match="message-"):
        house.stores.conversations.load(agent)


def test_a_list_that_reads_nothing_is_answered(http: httpx.Client) -> None:
    assert http.get("/v1/sandbox-config/").json() == []
