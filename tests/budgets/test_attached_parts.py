"""The waits for the table do not grow with the blocks, tools and folders of an agent, nor with the runs, agents and blocks of a
list: what is known together is read together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from hibernaut.ports.storage.table import Table
from hibernaut.rest.app import create_app
from hibernaut.services.records import AGENTS_AT_ONCE
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.budgets.test_request_budgets import Meter, RequestMeter
from tests.support.histories import Histories
from tests.support.scripted_model import calls, in_turn, says
from tests.support.waiting import eventually

FEW, MANY = 3, 30
SHARING = 60
"""Agents of one part: their links are more than a transaction takes."""
SOURCE = 'def knock_{0}(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return door\n'
PARTS: dict[str, tuple[str, Callable[[int], dict[str, object]]]] = {
    "block_ids": ("/v1/blocks/", lambda number: {"label": f"label_{number}", "value": "Ann"}),
    "tool_ids": ("/v1/tools/", lambda number: {"source_code": SOURCE.format(number)}),
    "folder_ids": ("/v1/folders/", lambda number: {"name": f"folder {number}"}),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, RequestMeter]]:
    meters: list[RequestMeter] = []

    def metered(table: object) -> RequestMeter:
        meters.append(RequestMeter(table))  # type: ignore[arg-type]
        return meters[-1]

    embedded = Embedded(
        EmbeddedSettings(data=tmp_path_factory.mktemp("data")),
        EmbeddedOverrides(table=metered),  # type: ignore[arg-type]
    )
    with TestClient(
        create_app(services_of(embedded.stores, embedded.host, embedded.engines)), base_url="http://localhost"
    ) as client:
        yield client, meters[0]
    embedded.close()


def waits(served: tuple[TestClient, RequestMeter], method: str, path: str, body: dict[str, object] | None = None) -> int:
    client, meter = served
    meter.reset()
    reply = client.request(method, path, json=body)
    assert reply.status_code == 200, reply.text
    return meter.waits


@pytest.mark.parametrize("name", PARTS)
def test_an_agent_with_many_parts_waits_no_longer_than_one_with_few(served: tuple[TestClient, RequestMeter], name: str) -> None:
    client, _ = served
    path, body = PARTS[name]
    ids = [client.post(path, json=body(number)).json()["id"] for number in range(MANY)]
    found: dict[str, list[int]] = {}
    for count in (FEW, MANY):
        created = waits(served, "POST", "/v1/agents/", {"name": f"{name} {count}", name: ids[:count]})
        agent_id = client.get("/v1/agents/", params={"name": f"{name} {count}"}).json()[0]["id"]
        bare = client.post("/v1/agents/", json={"name": "bare"}).json()["id"]
        found.setdefault("create", []).append(created)
        found.setdefault("change", []).append(waits(served, "PATCH", f"/v1/agents/{bare}", {name: ids[:count]}))
        found.setdefault("read", []).append(waits(served, "GET", f"/v1/agents/{agent_id}"))
        found.setdefault("message", []).append(waits(served, "POST", f"/v1/agents/{agent_id}/messages", {"input": "hello"}))
    assert {request: (few, many) for request, (few, many) in found.items() if many > few} == {}


@pytest.mark.parametrize("runs", [FEW, MANY])
def test_a_page_of_a_batch_reads_the_rows_of_all_its_runs_together(served: tuple[TestClient, RequestMeter], runs: int) -> None:
    client, _ = served
    agents = [client.post("/v1/agents/", json={"name": f"batched {number}"}).json()["id"] for number in range(runs)]
    requests = [{"agent_id": agent, "input": "hello"} for agent in agents]
    path = f"/v1/messages/batches/{client.post('/v1/messages/batches', json={'requests': requests}).json()['id']}"
    eventually(lambda: client.get(path).json()["status"] == "completed")
    assert {each["agent_id"] for each in client.get(f"{path}/messages?limit=1000").json()["messages"]} == set(agents)
    assert waits(served, "GET", f"{path}/messages") == 3, "the batch, its runs, their rows"


def test_the_approvals_that_a_list_of_agents_shows_are_read_together(served: tuple[TestClient, RequestMeter]) -> None:
    client, _ = served
    rules = [{"type": "requires_approval", "tool_name": "memory_insert"}]
    found = []
    for count in (FEW, MANY):
        tag = f"asking {count}"
        blocks = [{"label": "human", "value": ""}]
        for number in range(count):
            body = {"name": f"{tag} {number}", "tags": [tag], "tool_rules": rules, "memory_blocks": blocks}
            agent = client.post("/v1/agents/", json=body).json()["id"]
            client.post(f"/v1/agents/{agent}/messages", json={"input": "Remember that I like tea"})
        path = f"/v1/agents/?tags={tag}&include=agent.pending_approval"
        listed = client.get(path).json()
        assert [each["pending_approval"]["message_type"] for each in listed] == ["approval_request_message"] * count
        found.append(waits(served, "GET", path))
    assert found[0] == found[1]


def test_the_blocks_of_a_past_agent_are_read_together(served: tuple[TestClient, RequestMeter]) -> None:
    client, _ = served
    found: dict[str, list[int]] = {}
    for count in (FEW, MANY):
        blocks = [{"label": f"past_{number}", "value": "before"} for number in range(count)]
        agent = client.post("/v1/agents/", json={"name": f"past {count}", "memory_blocks": blocks}).json()
        now = client.get(f"/v1/agents/{agent['id']}/past").json()["at"]
        found.setdefault("now", []).append(waits(served, "GET", f"/v1/agents/{agent['id']}/past"))
        for block in agent["blocks"]:
            for value in ("after", "long after"):
                client.patch(f"/v1/blocks/{block['id']}", json={"value": value})
        path = f"/v1/agents/{agent['id']}/past?at={quote(now)}"
        assert [each["block"]["value"] for each in client.get(path).json()["blocks"]] == ["before"] * count
        found.setdefault("then", []).append(waits(served, "GET", path))
    assert {name: each for name, each in found.items() if each[0] != each[1]} == {}


@pytest.mark.parametrize("blocks", [FEW, MANY // 2])
def test_the_versions_that_a_run_wrote_are_read_together(tmp_path: Path, blocks: int) -> None:
    labels = [f"label_{number}" for number in range(blocks)]
    inserts = [("memory_insert", {"label": label, "new_string": "tea"}) for label in labels]
    meters: list[Meter] = []

    def metered(table: Table) -> Meter:
        meters.append(Meter(table))
        return meters[-1]

    kept = Histories(tmp_path, in_turn(calls(*inserts), says("Noted.")), metered)
    run = kept.world.send(kept.world.make_agent(blocks=dict.fromkeys(labels, ""), tools=("memory_insert",)), "hello")
    meters[0].reset()
    assert {each.label for each in kept.run_versions.of(run)} == set(labels)
    assert meters[0].waits == 4, "the run, its blocks, their versions, the archives"


DELETED: dict[str, tuple[str, dict[str, object], int]] = {
    "block_ids": ("/v1/blocks/", {"label": "left", "value": "Ann"}, 1),
    "tool_ids": ("/v1/tools/", {"source_code": SOURCE.format("left")}, 1),
    "folder_ids": ("/v1/folders/", {"name": "left"}, 1),
    "identity_ids": ("/v1/identities/", {"identifier_key": "left", "name": "Ann", "identity_type": "user"}, 1),
    "archive": ("/v1/archives/", {"name": "left"}, 3),
}
"""A part that agents share: where it is made, and the transactions of its deletion without agents."""


@pytest.mark.parametrize("name", DELETED)
def test_a_part_that_is_deleted_leaves_its_agents_in_few_transactions(served: tuple[TestClient, RequestMeter], name: str) -> None:
    client, meter = served
    path, body, own = DELETED[name]
    part = client.post(path, json=body).json()["id"]
    for _ in range(SHARING):
        agent = client.post("/v1/agents/", json={"name": f"{name} left", **({name: [part]} if name != "archive" else {})}).json()
        if name == "archive":
            client.patch(f"/v1/agents/{agent['id']}/archives/attach/{part}")
    meter.reset()
    assert client.delete(f"{path}{part}").status_code in (200, 204)
    assert meter.transactions <= own + SHARING // AGENTS_AT_ONCE + 1
    left = client.get("/v1/agents/", params={"name": f"{name} left", "limit": SHARING}).json()
    assert part not in str(left)


def test_the_context_of_an_agent_reads_the_files_of_its_folders_once(served: tuple[TestClient, RequestMeter]) -> None:
    client, meter = served
    folder = client.post("/v1/folders/", json={"name": "read once"}).json()["id"]
    for number in range(MANY):
        client.post(f"/v1/folders/{folder}/upload", files={"file": (f"{number}.txt", b"tea", "text/plain")})
    agent = client.post("/v1/agents/", json={"name": "read once", "folder_ids": [folder], "max_files_open": 1}).json()["id"]
    meter.reset()
    assert client.get(f"/v1/agents/{agent}/context").status_code == 200
    assert MANY <= meter.items < 2 * MANY
