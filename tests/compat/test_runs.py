"""Runs, and what belongs to them (digest 2.15)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from letta_client import BadRequestError, InternalServerError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import Make, Said, calls

UNKNOWN = "run-00000000-0000-4000-8000-000000000000"
INSERT = ("memory_insert", {"label": "human", "new_string": "Likes tea."})


def talk(client: Letta, agent_id: str, times: int = 1) -> list[str]:
    """The ids of the runs, oldest first."""
    return [client.agents.messages.create(agent_id, input=f"{number}").messages[0].run_id or "" for number in range(times)]


@pytest.mark.manifest("runs.retrieve", "runs.fields")
def test_a_run_remembers_how_it_was_asked_for(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    client.agents.messages.create(agent.id, input="hi", include_return_message_types=["assistant_message"])
    run = client.runs.list(agent_id=agent.id).items[0]
    assert client.runs.retrieve(run.id) == run
    assert (run.agent_id, run.status, run.stop_reason, run.background) == (agent.id, "completed", "end_turn", False)
    assert run.metadata is not None
    assert run.metadata["run_type"] == "send_message"
    assert run.request_config is not None
    assert run.request_config.include_return_message_types == ["assistant_message"]
    assert run.completed_at is not None
    assert run.total_duration_ns is not None
    assert run.total_duration_ns > 0


@pytest.mark.manifest("runs.retrieve.bad_id", "runs.retrieve.missing")
def test_runs_that_are_none(client: Letta) -> None:
    with pytest.raises(BadRequestError, match=r"Invalid run ID format: nonsense\. Expected format: 'run-<uuid4>'"):
        client.runs.retrieve("nonsense")
    for ask in (client.runs.retrieve, client.runs.usage.retrieve, client.runs.messages.list, client.runs.steps.list):
        with pytest.raises(NotFoundError):
            ask(UNKNOWN)


@pytest.mark.manifest("runs.list", "runs.list.filters", "runs.active")
def test_runs_are_found_by_what_they_are(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent, other = new_agent(), new_agent()
    well = talk(client, agent.id, 2)
    elsewhere = talk(client, other.id)
    said.next({"status": 401, "body": {}})
    failed = http.post(f"/v1/agents/{agent.id}/messages", json={"input": "x"})
    assert failed.status_code == 401

    def found(**by: Any) -> list[str]:
        return [run.id for run in client.runs.list(**{"agent_id": agent.id} | by).items]

    broken = found()[0]
    assert found() == [broken, *well[::-1]]
    assert found(statuses=["failed"]) == [broken]
    assert found(statuses=["failed", "completed"], stop_reason="end_turn") == well[::-1]
    assert found(background=True) == found(active=True) == found(conversation_id="conv-1") == []
    assert found(ascending=True) == [*well, broken]
    both = client.runs.list(agent_ids=[agent.id, other.id]).items
    assert [run.id for run in both] == sorted([*well, *elsewhere, broken], reverse=True)
    assert {*well, *elsewhere} <= {run.id for run in client.runs.list(limit=1000)}
    assert http.get("/v1/runs/active", params={"agent_id": agent.id}).json() == []


@pytest.mark.manifest("runs.list.cursors", "runs.list.limit")
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_sdk_pages_through_every_run_once(client: Letta, new_agent: Make, order: Any) -> None:
    agent = new_agent()
    made = talk(client, agent.id, 4)
    wanted = made if order == "asc" else made[::-1]
    assert [run.id for run in client.runs.list(agent_id=agent.id, limit=2, order=order)] == wanted
    assert [run.id for run in client.runs.list(agent_id=agent.id, before=wanted[2], limit=1, order=order).items] == [wanted[1]]
    for limit in (0, 1001):
        with pytest.raises(UnprocessableEntityError):
            client.runs.list(limit=limit)


@pytest.mark.manifest("runs.messages", "runs.steps", "runs.usage", "runs.metrics")
def test_what_belongs_to_a_run(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    talk(client, agent.id)
    said.next(calls(INSERT, content="Noting."), {"content": "Noted."})
    answer = client.agents.messages.create(agent.id, input="I like tea")
    run_id = answer.messages[0].run_id or ""
    talk(client, agent.id)
    shown = client.runs.messages.list(run_id).items
    assert [one.message_type for one in shown] == ["user_message", *(one.message_type for one in answer.messages)]
    assert [one.id for one in client.runs.messages.list(run_id, limit=1, order="desc").items] == [answer.messages[-1].id]
    assert [one.id for one in client.runs.messages.list(run_id, after=shown[0].id, limit=1).items] == [shown[1].id, shown[2].id]
    steps = client.runs.steps.list(run_id).items
    assert [step.id for step in steps] == [answer.messages[-1].step_id, answer.messages[0].step_id]
    assert [step.id for step in client.runs.steps.list(run_id, order="asc", limit=1)] == [step.id for step in steps[::-1]]
    usage = client.runs.usage.retrieve(run_id)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (24, 10, 34)
    metrics = http.get(f"/v1/runs/{run_id}/metrics").json()
    assert (metrics["num_steps"], metrics["agent_id"]) == (2, agent.id)
    assert len(metrics["tools_used"]) == 1


@pytest.mark.manifest("runs.trace")
def test_traces_are_not_kept(client: Letta, new_agent: Make) -> None:
    with pytest.raises(InternalServerError) as raised:
        client.runs.trace.retrieve(talk(client, new_agent().id)[0])
    assert raised.value.status_code == 501
