"""Batches of messages by HTTP: letta-client 1.12.1 has no method for them (Letta V1 API, API 3; RT 13.6)."""

from __future__ import annotations

import threading
import time

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Make

PATH = "/v1/messages/batches"
AGENT = "agent-00000000-0000-4000-8000-000000000000"
PATIENCE = 60.0


def ended(http: httpx.Client, batch_id: str) -> dict[str, object]:
    deadline = time.monotonic() + PATIENCE
    while (batch := http.get(f"{PATH}/{batch_id}").json())["status"] == "running":
        assert time.monotonic() < deadline, batch
        threading.Event().wait(0.05)
    found: dict[str, object] = batch
    return found


@pytest.mark.manifest("batches.create", "batches.retrieve", "batches.list", "batches.messages")
@pytest.mark.deployed
def test_a_batch_sends_to_many_agents(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    agents = [new_agent().id for _ in range(3)]
    requests = [{"agent_id": agent, "input": f"task {place}"} for place, agent in enumerate(agents)]
    made = http.post(PATH, json={"requests": requests}).json()
    assert (made["job_type"], made["status"], made["metadata"]["requests"]) == ("batch", "running", 3)
    done = ended(http, made["id"])
    assert (done["status"], done["metadata"]["run_ids"]) == ("completed", made["metadata"]["run_ids"])
    assert {client.runs.retrieve(run).agent_id for run in made["metadata"]["run_ids"]} == set(agents)
    rows = http.get(f"{PATH}/{made['id']}/messages", params={"order": "asc"}).json()["messages"]
    assert sorted(row["content"][0]["text"] for row in rows if row["role"] == "user") == ["task 0", "task 1", "task 2"]
    own = http.get(f"{PATH}/{made['id']}/messages", params={"agent_id": agents[1]}).json()["messages"]
    assert {row["agent_id"] for row in own} == {agents[1]}
    assert made["id"] in [one["id"] for one in http.get(PATH).json()]
    assert http.get(PATH, params={"after": "job-x"}).status_code == 404


@pytest.mark.manifest("batches.create", "batches.limit")
@pytest.mark.deployed
def test_a_batch_is_refused_as_a_whole_before_anything_is_sent(http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent().id
    good = {"agent_id": agent, "input": "hi"}
    for requests, status in (
        ([], 422),
        ([good] * 101, 422),
        ([good, {"agent_id": AGENT, "input": "hi"}], 404),
        ([good, {"agent_id": agent}], 422),
        ([good, {"agent_id": "x", "input": "hi"}], 422),
    ):
        assert http.post(PATH, json={"requests": requests}).status_code == status, requests
    assert http.post(PATH, json={"requests": [good], "callback_url": "ftp://x"}).status_code == 400
    assert http.get(f"/v1/agents/{agent}/messages", params={"limit": 10}).json()[-1]["message_type"] == "system_message"


@pytest.mark.manifest("batches.cancel")
@pytest.mark.deployed
def test_a_batch_is_cancelled(http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent().id
    made = http.post(PATH, json={"requests": [{"agent_id": agent, "input": "hi"}] * 20}).json()
    answer = http.patch(f"{PATH}/{made['id']}/cancel")
    assert (answer.status_code, answer.json()) == (200, None)
    assert ended(http, made["id"])["status"] == "cancelled"
    assert http.patch(f"{PATH}/job-x/cancel").status_code == 404
