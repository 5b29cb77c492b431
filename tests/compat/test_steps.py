"""Steps, and what people think of them (API 2.15)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Make, Said, calls

UNKNOWN = "step-00000000-0000-4000-8000-000000000000"


def talk(client: Letta, agent_id: str) -> str:
    return client.agents.messages.create(agent_id, input="Hello").messages[-1].step_id or ""


@pytest.mark.manifest("steps.retrieve", "steps.retrieve.missing", "steps.metrics")
def test_a_step_tells_what_it_cost(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    step = client.steps.retrieve(talk(client, agent.id))
    assert (step.agent_id, step.model, step.model_handle, step.status) == (agent.id, "test-model", HANDLE, "success")
    assert (step.prompt_tokens, step.completion_tokens, step.total_tokens, step.stop_reason) == (12, 5, 17, "end_turn")
    metrics = client.steps.metrics.retrieve(step.id)
    assert (metrics.id, metrics.run_id, metrics.agent_id) == (step.id, step.run_id, agent.id)
    assert metrics.llm_request_ns is not None
    assert metrics.step_ns is not None
    assert metrics.step_ns >= metrics.llm_request_ns > 0
    for unknown, status in ((UNKNOWN, 404), ("step-1", 422)):
        assert http.get(f"/v1/telemetry/{unknown}").status_code == http.get(f"/v1/steps/{unknown}/trace").status_code == status
    for ask in (client.steps.retrieve, client.steps.metrics.retrieve, client.steps.messages.list):
        with pytest.raises(NotFoundError):
            ask(UNKNOWN)
        with pytest.raises(UnprocessableEntityError):
            ask("step-1")


@pytest.mark.manifest("steps.messages")
def test_a_step_shows_what_it_added(client: Letta, new_agent: Make, said: Said) -> None:
    said.next(calls(("memory_insert", {"label": "human", "new_string": "x"}), content="Noting."), {"content": "Noted."})
    answer = client.agents.messages.create(new_agent().id, input="x")
    first = client.steps.messages.list(answer.messages[0].step_id or "").items
    assert [one.message_type for one in first] == ["assistant_message", "tool_call_message", "tool_return_message"]
    assert client.steps.messages.list(answer.messages[0].step_id or "", order="desc").items == first[::-1]
    last = client.steps.messages.list(answer.messages[-1].step_id or "").items
    assert [one.message_type for one in last] == ["assistant_message"]


@pytest.mark.manifest("steps.list")
@pytest.mark.manifest("steps.call_times")
def test_each_call_of_a_step_has_its_time(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent(tools=["memory_insert"])
    note = ("memory_insert", {"label": "human", "new_string": "x"})
    said.next(calls(note, note), {"content": "Noted."})
    reply = client.agents.messages.create(agent.id, input="Hello")
    step_id = reply.messages[0].step_id or ""
    found = http.get(f"/v1/steps/{step_id}/metrics").json()
    assert [one["tool_call_id"] for one in found["call_times"]] == ["call_1", "call_2"]
    assert all(0 < one["execution_ns"] <= found["tool_execution_ns"] for one in found["call_times"])
    assert http.get(f"/v1/steps/{reply.messages[-1].step_id}/metrics").json()["call_times"] == []


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.deployed
def test_the_sdk_pages_through_every_step_once(client: Letta, new_agent: Make, order: Any) -> None:
    agent = new_agent()
    made = [talk(client, agent.id) for _ in range(5)]
    wanted = made if order == "asc" else made[::-1]
    assert [step.id for step in client.steps.list(agent_id=agent.id, limit=2, order=order)] == wanted
    before = client.steps.list(agent_id=agent.id, before=wanted[3], limit=2, order=order).items
    assert [step.id for step in before] == wanted[1:3]
    with pytest.raises(NotFoundError):
        client.steps.list(after=UNKNOWN)


@pytest.mark.manifest("steps.list.filters", "steps.feedback")
@pytest.mark.deployed
def test_steps_are_found_by_what_they_are_and_what_was_said_of_them(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    good, bad, plain = (talk(client, agent.id) for _ in range(3))
    praised = client.steps.feedback.create(good, feedback="positive", tags=["short", "kind"])
    assert (praised.feedback, praised.tags) == ("positive", ["short", "kind"])
    client.steps.feedback.create(bad, feedback="negative")

    def found(**by: Any) -> list[str]:
        return [step.id for step in client.steps.list(**{"agent_id": agent.id} | by).items]

    assert found() == [plain, bad, good]
    assert found(feedback="negative") == [bad]
    assert found(has_feedback=True) == [bad, good]
    assert found(has_feedback=False) == [plain]
    assert found(tags=["kind", "other"]) == [good]
    assert found(model="test-model") == [plain, bad, good]
    assert found(model="another") == found(trace_ids=["none"]) == found(project_id="none") == []
    assert found(limit=1, agent_id=None) == [plain]
    made = client.runs.retrieve(client.steps.retrieve(bad).run_id or "").created_at
    assert made is not None
    assert found(start_date=(made - timedelta(days=1)).isoformat()) == [plain, bad, good]
    assert found(end_date=(made - timedelta(days=1)).isoformat()) == []
    assert good not in found(start_date=made.isoformat())
    assert client.steps.feedback.create(bad, feedback=None).feedback is None
    tagged = client.steps.feedback.create(good, tags=["long"])
    assert (tagged.feedback, tagged.tags) == ("positive", ["long"])
    assert client.steps.feedback.create(good).tags == ["long"]


@pytest.mark.manifest("steps.list.bounded")
def test_a_rare_step_is_found_however_many_others_there_are(
    client: Letta, http: httpx.Client, new_agent: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, other = new_agent(), new_agent()
    wanted = talk(client, agent.id)
    for _ in range(3):
        talk(client, other.id)
    whole = http.get("/v1/steps/", params={"agent_id": agent.id})
    assert ([step["id"] for step in whole.json()], whole.headers.get("x-hibernaut-next")) == ([wanted], None)
    monkeypatch.setattr("hibernaut.services.runs.steps.MOST_READ", 2)
    asked, found = {"agent_id": agent.id, "limit": "1"}, list[str]()
    while not found:
        page = http.get("/v1/steps/", params=asked)
        found += [step["id"] for step in page.json()]
        if not found:
            cursor, _, place = page.headers["x-hibernaut-next"].partition("=")
            assert cursor == "after"
            asked[cursor] = place
    assert found == [wanted]


@pytest.mark.manifest("steps.list.filters", "steps.trace_id")
def test_steps_are_found_by_their_trace_and_their_project(client: Letta, new_agent: Make) -> None:
    agent, other = new_agent(), new_agent()
    client.agents.update(other.id, project_id="project-1")  # type: ignore[call-arg]
    first, second, apart = (client.steps.retrieve(talk(client, one.id)) for one in (agent, agent, other))
    spans: list[Any] = list(client.runs.trace.retrieve(str(second.run_id)))
    assert {span["TraceId"] for span in spans} == {second.trace_id}

    def found(**by: Any) -> list[str]:
        return [step.id for step in client.steps.list(**by).items]

    assert found(trace_ids=[second.trace_id]) == [second.id]
    assert found(trace_ids=[apart.trace_id, first.trace_id, "none"]) == [apart.id, first.id]
    assert found(project_id="project-1") == [apart.id]


@pytest.mark.manifest("steps.bad_input")
def test_what_makes_no_sense_is_refused(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    first, second = talk(client, agent.id), talk(client, agent.id)
    before = client.steps.retrieve(first)
    for body in ({"feedback": "neutral"}, {"feedback": "positive", "tags": "kind"}, {"feedback": "positive", "tags": [1]}):
        assert http.patch(f"/v1/steps/{first}/feedback", json=body).status_code == 422, body
    assert client.steps.retrieve(first) == before
    with pytest.raises(NotFoundError):
        client.steps.feedback.create(UNKNOWN, feedback="positive")
    wrong = ({"feedback": "x"}, {"has_feedback": "x"}, {"start_date": "x"}, {"order": "up"}, {"order_by": "name"}, {"limit": -1})
    for query in wrong:
        assert http.get("/v1/steps", params=query).status_code == 422, query
    foreign = client.steps.messages.list(second).items[0].id
    with pytest.raises(NotFoundError, match=foreign):
        client.steps.messages.list(first, after=foreign)


@pytest.mark.manifest("steps.trace", "steps.telemetry")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.deployed
def test_a_trace_shows_what_was_sent_and_received(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, streamed: bool
) -> None:
    agent = new_agent(tags=["seen"])
    said.next(calls(("memory_insert", {"label": "human", "new_string": "tea"}), content="Noting."), {"content": "Noted."})
    list(client.agents.messages.create(agent.id, input="I like tea", streaming=True, stream_tokens=streamed))
    steps = client.steps.list(agent_id=agent.id, order="asc").items
    traces: list[Any] = [http.get(f"/v1/steps/{step.id}/trace").json() for step in steps]
    read = client.steps.trace.retrieve(steps[0].id)
    assert read is not None
    assert read.request_json == traces[0]["request_json"]
    assert [trace["request_json"] for trace in traces] == [request.body for request in said.server.requests[-2:]]
    message = traces[0]["response_json"]["choices"][0]["message"]
    assert (message["content"], message["tool_calls"][0]["function"]["name"]) == ("Noting.", "memory_insert")
    assert traces[1]["response_json"]["choices"][0]["message"]["content"] == "Noted."
    assert traces[1]["response_json"]["usage"]["total_tokens"] == 17
    about = [(trace["step_id"], trace["run_id"], trace["agent_id"], trace["agent_tags"]) for trace in traces]
    assert about == [(step.id, step.run_id, agent.id, ["seen"]) for step in steps]
    assert traces[0]["id"].startswith("provider_trace-")
    assert http.get(f"/v1/telemetry/{steps[0].id}").json() == traces[0]
    assert "sk-test" not in str(traces)


@pytest.mark.manifest("steps.trace", "steps.telemetry")
def test_the_trace_of_a_failed_call_shows_what_was_sent_and_the_providers_error(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    agent = new_agent()
    refusal = {"error": {"type": "invalid_request_error", "message": "Unsupported parameter with sk-test."}}
    said.next({"status": 400, "body": refusal})
    with pytest.raises(APIStatusError):
        client.agents.messages.create(agent.id, input="hi")
    (step,) = client.steps.list(agent_id=agent.id).items
    assert step.status == "failed"
    trace = http.get(f"/v1/steps/{step.id}/trace").json()
    assert http.get(f"/v1/telemetry/{step.id}").json() == trace
    assert trace["request_json"] == said.server.requests[-1].body
    answer = trace["response_json"]
    assert (answer["status"], answer["body"]["error"]["type"]) == (400, "invalid_request_error")
    assert answer["error"]["type"] == "llm_bad_request"
    assert "Unsupported parameter" in answer["body"]["error"]["message"]
    assert "sk-test" not in str(trace)


@pytest.mark.manifest("steps.cost")
def test_what_an_unlisted_server_answers_has_an_unknown_cost(client: Letta, new_agent: Make) -> None:
    answer = client.agents.messages.create(new_agent().id, input="Hello")
    step = client.steps.retrieve(answer.messages[-1].step_id or "")
    told: list[Any] = [answer.usage, step, client.runs.usage.retrieve(step.run_id or "")]
    assert [(one.cost, one.price_list_date) for one in told] == [(None, None)] * 3
    assert answer.usage.total_tokens == 17


@pytest.mark.manifest("usage.report")
@pytest.mark.deployed
def test_usage_is_added_up_by_day_agent_and_model(
    client: Letta, http: httpx.Client, new_agent: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, other = new_agent(), new_agent()
    steps = [talk(client, agent.id) for _ in range(3)]
    talk(client, other.id)

    def report(**by: Any) -> Any:
        return http.get("/v1/usage", params={"agent_id": agent.id} | by).json()

    whole = report()
    (row,) = whole["rows"]
    assert (row["agent_id"], row["model"], row["steps"], row["unpriced_steps"]) == (agent.id, HANDLE, 3, 3)
    assert (row["prompt_tokens"], row["completion_tokens"], row["total_tokens"], row["cost"]) == (36, 15, 51, None)
    assert {name: row[name] for name in whole["total"]} == whole["total"]
    assert whole["next"] is None
    assert report(model=HANDLE) == report(model="test-model") == report(start_date=row["day"]) == whole
    assert report(model="another")["rows"] == report(end_date="2020-01-01")["rows"] == []
    assert report(before=steps[1])["total"]["steps"] == 1
    assert {one["agent_id"] for one in http.get("/v1/usage").json()["rows"]} >= {agent.id, other.id}
    monkeypatch.setattr("hibernaut.services.runs.steps.MOST_READ", 2)
    pages, cursor = [], None
    while cursor is not None or not pages:
        pages.append(report(**({"before": cursor} if cursor else {}), start_date=row["day"]))
        cursor = pages[-1]["next"]
    assert sum(page["total"]["steps"] for page in pages) == 3
    assert len(pages) > 1


@pytest.mark.manifest("usage.report")
@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"start_date": "2026-02-01", "end_date": "2026-01-01"}, 400),
        ({"start_date": "yesterday"}, 422),
        ({"before": UNKNOWN}, 404),
    ],
)
def test_a_report_that_cannot_be_made_says_why(http: httpx.Client, asked: dict[str, str], status: int) -> None:
    assert http.get("/v1/usage", params=asked).status_code == status
