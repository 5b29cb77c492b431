"""Jobs: runs as older clients ask for them (API 3). No SDK of today has these routes, so they are asked over HTTP."""

from __future__ import annotations

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Make, Said
from tests.compat.holding import PATIENCE, holding

UNKNOWN = "job-00000000-0000-4000-8000-000000000000"


def talk(client: Letta, agent_id: str) -> str:
    """The id of the run."""
    return client.agents.messages.create(agent_id, input="Hello").messages[0].run_id or ""


@pytest.mark.manifest("jobs.retrieve", "jobs.ids")
def test_a_run_is_shown_as_a_job(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    run = client.runs.retrieve(talk(client, agent.id))
    job = http.get(f"/v1/jobs/{run.id}").json()
    assert (job["id"], job["job_type"], job["agent_id"]) == (run.id, "run", agent.id)
    assert (job["status"], job["stop_reason"], job["background"]) == ("completed", "end_turn", False)
    assert job["metadata"] == {"run_type": "send_message"}
    assert job["total_duration_ns"] == run.total_duration_ns
    assert job["completed_at"] is not None
    assert http.get(f"/v1/jobs/job-{run.id.removeprefix('run-')}").json() == job


@pytest.mark.manifest("jobs.list", "jobs.active", "jobs.cancel")
@pytest.mark.deployed
def test_jobs_are_listed_and_cancelled(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    over = talk(client, agent.id)
    with holding(said) as asked:
        going, waiting = (client.agents.messages.create_async(agent.id, input=text).id for text in "12")
        assert asked.wait(PATIENCE)
        for path, query in (("/v1/jobs", {"active": "true"}), ("/v1/jobs/active", {})):
            assert [job["id"] for job in http.get(path, params=query).json()] == [waiting, going], path
        cancelled = http.patch(f"/v1/jobs/{waiting}/cancel").json()
        assert (cancelled["id"], cancelled["status"], cancelled["stop_reason"]) == (waiting, "cancelled", "cancelled")
        assert http.patch(f"/v1/jobs/job-{going.removeprefix('run-')}/cancel").json()["status"] == "cancelled"
        assert http.get("/v1/jobs/active").json() == []
    assert http.patch(f"/v1/jobs/{going}/cancel").json()["status"] == "cancelled"
    assert http.patch(f"/v1/jobs/{over}/cancel").json()["status"] == "completed"
    assert [job["id"] for job in http.get("/v1/jobs", params={"limit": 3}).json()] == [waiting, going, over]
    after = {"limit": 1, "after": f"job-{waiting.removeprefix('run-')}"}
    assert [job["id"] for job in http.get("/v1/jobs", params=after).json()] == [going]
    upwards = {"ascending": "true", "limit": 1, "after": over}
    assert [job["id"] for job in http.get("/v1/jobs", params=upwards).json()] == [going]
    assert [job["id"] for job in http.get("/v1/jobs", params={"limit": 2, "before": over}).json()] == [waiting, going]
    assert [job["id"] for job in http.get("/v1/jobs", params={"order": "asc", "after": going}).json()] == [waiting]
    assert http.get("/v1/jobs", params={"source_id": "source-00000000-0000-4000-8000-000000000000"}).json() == []


@pytest.mark.manifest("jobs.delete")
@pytest.mark.deployed
def test_a_deleted_job_is_told_once_more(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    run_id = talk(client, agent.id)
    shown = http.get(f"/v1/jobs/{run_id}").json()
    assert http.delete(f"/v1/jobs/{run_id}").json() == shown
    assert http.delete(f"/v1/jobs/{run_id}").status_code == http.get(f"/v1/runs/{run_id}").status_code == 404
    with holding(said) as asked:
        going = client.agents.messages.create_async(agent.id, input="x").id
        assert asked.wait(PATIENCE)
        assert http.delete(f"/v1/jobs/{going}").status_code == 409
        assert http.get(f"/v1/jobs/{going}").json()["status"] == "running"
    client.agents.messages.create(agent.id, input="y")


@pytest.mark.manifest("jobs.ids")
def test_jobs_that_are_none(http: httpx.Client) -> None:
    asks = [("GET", ""), ("DELETE", ""), ("PATCH", "/cancel")]
    for method, path in asks:
        refused = http.request(method, f"/v1/jobs/nonsense{path}")
        assert refused.status_code == 400
        assert refused.json() == {"detail": "Invalid job ID format: nonsense. Expected format: 'run-<uuid4>' or 'job-<uuid4>'"}
        assert http.request(method, f"/v1/jobs/{UNKNOWN}{path}").status_code == 404
    assert http.get("/v1/jobs", params={"after": "nonsense"}).status_code == 400
    assert http.get("/v1/jobs", params={"after": UNKNOWN}).status_code == 404
    for query in ({"limit": 0}, {"limit": 1001}, {"order": "up"}, {"active": "perhaps"}):
        assert http.get("/v1/jobs", params=query).status_code == 422, query


@pytest.mark.manifest("messages.async.callback.shown")
def test_no_answer_shows_what_of_a_callbacks_address_may_be_secret(http: httpx.Client, new_agent: Make) -> None:
    agent, secret = new_agent(), "http://user:planted-word@127.0.0.1:9/told?token=planted-word"
    path = f"/v1/agents/{agent.id}/messages"
    sent = http.post(f"{path}/async", json={"input": "Hello", "callback_url": secret})
    http.post(path, json={"input": "And?"})
    run = sent.json()["id"]
    asked = [f"/v1/runs/{run}", f"/v1/runs/?agent_id={agent.id}", f"/v1/jobs/{run}", "/v1/jobs/", f"/v1/runs/{run}/trace"]
    answers = [sent, *(http.get(each) for each in asked), http.delete(f"/v1/jobs/{run}")]
    assert "planted-word" not in "".join(answer.text for answer in answers)
    assert ["http://127.0.0.1:9/told?token=***" in answer.text for answer in answers] == [True] * 5 + [False, True]
