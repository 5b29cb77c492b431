"""Runs, and what belongs to them (API 2.15)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from letta_client import AuthenticationError, BadRequestError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import Make, Said, calls
from tests.compat.holding import PATIENCE, holding

UNKNOWN = "run-00000000-0000-4000-8000-000000000000"
INSERT = ("memory_insert", {"label": "human", "new_string": "Likes tea."})

LETTER = '''
def send_letter(text: str) -> str:
    """Sends a letter.

    Args:
        text: What it says.
    """
    return "sent"
'''


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
@pytest.mark.deployed
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


@pytest.mark.manifest("runs.list.filters")
@pytest.mark.deployed
def test_runs_of_a_conversation(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    talk(client, agent.id)
    made = client.conversations.create(agent_id=agent.id)
    http.post(f"/v1/conversations/{made.id}/messages", json={"input": "Here", "streaming": False}).raise_for_status()
    run = client.runs.list(conversation_id=made.id).items[0]
    assert (run.conversation_id, run.agent_id) == (made.id, agent.id)
    assert [one.id for one in client.runs.list(agent_id=agent.id, conversation_id=made.id)] == [run.id]
    assert [one.message_type for one in client.runs.messages.list(run.id)] == ["user_message", "assistant_message"]
    said = client.conversations.messages.list(made.id).items
    assert http.delete(f"/v1/runs/{run.id}").status_code == 200
    assert client.conversations.messages.list(made.id).items == said
    assert client.runs.list(conversation_id=made.id).items == []


@pytest.mark.manifest("runs.list.cursors", "runs.list.limit")
@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.deployed
def test_the_sdk_pages_through_every_run_once(client: Letta, new_agent: Make, order: Any) -> None:
    agent = new_agent()
    made = talk(client, agent.id, 4)
    wanted = made if order == "asc" else made[::-1]
    assert [run.id for run in client.runs.list(agent_id=agent.id, limit=2, order=order)] == wanted
    assert [run.id for run in client.runs.list(agent_id=agent.id, before=wanted[2], limit=1, order=order).items] == [wanted[1]]
    for limit in (0, 1001):
        with pytest.raises(UnprocessableEntityError):
            client.runs.list(limit=limit)


@pytest.mark.manifest("runs.messages", "runs.steps", "runs.usage", "runs.metrics", "runs.deaths")
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
    assert client.runs.messages.list(run_id, order="desc").items == shown[::-1]
    assert client.runs.messages.list(run_id, order="desc", before=shown[-1].id, limit=1).items == [shown[-2]]
    assert [one.id for one in client.runs.messages.list(run_id, after=shown[0].id, limit=1).items] == [shown[1].id, shown[2].id]
    steps = client.runs.steps.list(run_id).items
    assert [step.id for step in steps] == [answer.messages[-1].step_id, answer.messages[0].step_id]
    assert [step.id for step in client.runs.steps.list(run_id, order="asc", limit=1)] == [step.id for step in steps[::-1]]
    usage = client.runs.usage.retrieve(run_id)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (24, 10, 34)
    metrics = http.get(f"/v1/runs/{run_id}/metrics").json()
    assert (metrics["num_steps"], metrics["agent_id"]) == (2, agent.id)
    assert len(metrics["tools_used"]) == 1
    assert (metrics["attempts"], metrics["sweeps"], metrics["take_ups"]) == (2, 0, [])
    assert [step["failed_calls"] for step in http.get(f"/v1/runs/{run_id}/steps").json()] == [[], []]


@pytest.mark.manifest("runs.trace")
@pytest.mark.deployed
def test_a_trace_tells_what_took_how_long(client: Letta, new_agent: Make, said: Said) -> None:
    said.next(calls(INSERT), {"content": "Noted."})
    answer = client.agents.messages.create(new_agent().id, input="I like tea")
    run_id = answer.messages[0].run_id or ""
    found: list[Any] = list(client.runs.trace.retrieve(run_id))
    root = found[0]
    assert [span["SpanName"] for span in found] == [
        "root_span",
        "agent_step",
        "llm_request",
        "tool_executions",
        "agent_step",
        "llm_request",
    ]
    assert root["SpanAttributes"]["run_id"] == run_id
    steps = [span for span in found if span["SpanName"] == "agent_step"]
    assert [span["SpanAttributes"]["step_id"] for span in steps] == [answer.messages[0].step_id, answer.messages[-1].step_id]
    assert [span["ParentSpanId"] for span in found[1:5]] == [
        root["SpanId"],
        steps[0]["SpanId"],
        steps[0]["SpanId"],
        root["SpanId"],
    ]
    assert len({span["SpanId"] for span in found}) == len(found)
    assert {span["TraceId"] for span in found} == {root["TraceId"]}
    assert root["Duration"] > 0
    assert found[2]["Duration"] > 0
    assert "tea" not in str(found)
    assert len(client.runs.trace.retrieve(run_id, limit=2)) == 2


@pytest.mark.manifest("runs.first_token")
def test_a_stream_of_tokens_tells_when_its_first_words_came(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(INSERT, content="Noting."), {"content": "Noted."})
    list(client.agents.messages.create(agent.id, input="I like tea", streaming=True, stream_tokens=True))
    plain = talk(client, agent.id)[0]
    run = client.runs.list(agent_id=agent.id).items[1]
    steps = [step.id for step in client.runs.steps.list(run.id, order="asc")]
    metrics = client.steps.metrics.retrieve(steps[0])
    assert run.ttft_ns is not None
    assert run.total_duration_ns is not None
    assert 0 < run.ttft_ns < run.total_duration_ns
    spans: list[Any] = list(client.runs.trace.retrieve(run.id))
    assert [span["Duration"] for span in spans if span["SpanName"] == "time_to_first_token"] == [run.ttft_ns]
    # The first step's words, not the second's.
    assert metrics.step_start_ns is not None
    assert metrics.step_ns is not None
    assert run.created_at is not None
    assert run.ttft_ns <= metrics.step_start_ns + metrics.step_ns - int(run.created_at.timestamp() * 1e9) + 1_000_000
    assert client.runs.retrieve(plain).ttft_ns is None


@pytest.mark.manifest("runs.delete")
@pytest.mark.deployed
def test_a_deleted_run_is_gone_and_what_it_said_stays(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(INSERT), {"content": "Noted."})
    answer = client.agents.messages.create(agent.id, messages=[{"role": "user", "content": "I like tea", "otid": "tea-1"}])
    run_id, step_id = answer.messages[0].run_id or "", answer.messages[0].step_id or ""
    kept = talk(client, agent.id)[0]
    log = client.agents.messages.list(agent.id).items
    gone = http.delete(f"/v1/runs/{run_id}")
    assert (gone.status_code, gone.json()) == (200, None)
    assert http.delete(f"/v1/runs/{run_id}").status_code == 404
    for ask in (client.runs.retrieve, client.runs.usage.retrieve, client.runs.messages.list, client.runs.steps.list):
        with pytest.raises(NotFoundError):
            ask(run_id)
    with pytest.raises(NotFoundError):
        client.steps.retrieve(step_id)
    assert [run.id for run in client.runs.list(agent_id=agent.id)] == [kept]
    assert run_id not in {run.id for run in client.runs.list(limit=1000)}
    assert {step.run_id for step in client.steps.list(agent_id=agent.id)} == {kept}
    assert client.agents.messages.list(agent.id).items == log
    # What it took is known for a day: sent again it is not answered twice, though the answer is gone.
    with pytest.raises(NotFoundError):
        client.agents.messages.create(agent.id, messages=[{"role": "user", "content": "I like tea", "otid": "tea-1"}])


@pytest.mark.manifest("runs.delete.open", "runs.active")
def test_a_run_that_goes_on_or_waits_is_not_deleted(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    with holding(said) as asked:
        going, waiting = (client.agents.messages.create_async(agent.id, input=text).id for text in "12")
        assert asked.wait(PATIENCE)
        for run_id in (going, waiting):
            refused = http.delete(f"/v1/runs/{run_id}")
            assert (refused.status_code, refused.headers["x-should-retry"]) == (409, "false")
            assert refused.json()["detail"] == f"CONFLICT: Run {run_id} has not ended. Cancel it before you delete it."
        listed = http.get("/v1/runs/active", params={"agent_id": agent.id}).json()
        assert [(run["id"], run["status"]) for run in listed] == [(waiting, "created"), (going, "running")]
        assert [run.id for run in client.runs.list(agent_id=agent.id, active=True, background=True)] == [waiting, going]
        assert [run.id for run in client.runs.list(agent_id=agent.id, statuses=["created"])] == [waiting]
    client.agents.messages.create(agent.id, input="3")
    there = client.runs.list(agent_id=agent.id, background=False).items
    assert [run.background for run in there] == [False], "the two others were asked for in the background"
    assert http.delete(f"/v1/runs/{going}").status_code == 200


@pytest.mark.manifest("runs.delete.open")
def test_a_run_that_waits_for_an_approval_is_not_deleted(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    tool = client.tools.create(source_code=LETTER, default_requires_approval=True)
    agent = new_agent(tool_ids=[tool.id])
    said.next(calls(("send_letter", {"text": "Dear Ann"})), {"content": "As you like."})
    asked = client.agents.messages.create(agent.id, input="Write to Ann")
    run_id = client.runs.list(agent_id=agent.id).items[0].id
    assert asked.stop_reason.stop_reason == "requires_approval"
    refused = http.delete(f"/v1/runs/{run_id}")
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith(f"CONFLICT: Run {run_id} waits for an approval.")
    call_id = asked.messages[-1].tool_call.tool_call_id  # type: ignore[union-attr]
    denied: Any = {"type": "approval", "approvals": [{"type": "approval", "tool_call_id": call_id, "approve": False}]}
    client.agents.messages.create(agent.id, messages=[denied])
    assert http.delete(f"/v1/runs/{run_id}").status_code == 200
    # The answer again finds no question that it fits; a message goes on as ever.
    with pytest.raises(BadRequestError, match="No tool call is currently awaiting approval"):
        client.agents.messages.create(agent.id, messages=[denied], extra_headers={"x-stainless-retry-count": "0"})
    assert client.agents.messages.create(agent.id, input="Well?").stop_reason.stop_reason == "end_turn"


@pytest.mark.manifest("runs.list.cursors")
def test_a_cursor_need_not_pass_the_filter(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    first, second, third = talk(client, agent.id, 3)
    said.next({"status": 401, "body": {}})
    with pytest.raises(AuthenticationError):
        client.agents.messages.create(agent.id, input="x")
    failed = client.runs.list(agent_id=agent.id, statuses=["failed"]).items[0].id
    well = ["completed"]
    assert [run.id for run in client.runs.list(agent_id=agent.id, statuses=well, after=failed)] == [third, second, first]
    assert [run.id for run in client.runs.list(agent_id=agent.id, statuses=["failed"], before=second)] == [failed]
    with pytest.raises(NotFoundError):
        client.runs.list(agent_id=agent.id, after=UNKNOWN)
    with pytest.raises(NotFoundError):
        client.runs.list(agent_id=new_agent().id, after=first)


@pytest.mark.manifest("runs.list.bounded")
@pytest.mark.parametrize(
    ("path", "wanted", "cut"),
    [
        ("/v1/runs", {"statuses": "running"}, 1),
        ("/v1/runs", {"active": "true"}, 0),
        ("/v1/runs/active", {}, 0),
        ("/v1/jobs", {"active": "true"}, 0),
        ("/v1/jobs/active", {}, 0),
    ],
)
@pytest.mark.deployed
def test_a_rare_run_is_found_however_many_others_there_are(
    client: Letta,
    http: httpx.Client,
    new_agent: Make,
    said: Said,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    wanted: dict[str, str],
    cut: int,
) -> None:
    """Open runs have a list of their own; another filter reads on and says where it stopped (`cut` pages)."""
    agent, other = new_agent(), new_agent()
    with holding(said) as asked:
        going = client.agents.messages.create_async(agent.id, input="Hello").id
        assert asked.wait(PATIENCE)
        for _ in range(3):
            client.agents.messages.create_async(other.id, input="Hello")
        assert len(client.agents.messages.cancel(other.id)) == 3
        whole = http.get(path, params=wanted)
        assert ([run["id"] for run in whole.json()], whole.headers.get("x-hibernaut-next")) == ([going], None)
        monkeypatch.setattr("hibernaut.services.runs.runs.MOST_READ", 2)
        query, pages = {**wanted, "limit": "1"}, 0
        while "x-hibernaut-next" in (page := http.get(path, params=query)).headers:
            cursor, _, place = page.headers["x-hibernaut-next"].partition("=")
            assert (page.json(), cursor) == ([], "after")
            query[cursor] = place
            pages += 1
        assert ([run["id"] for run in page.json()], pages) == ([going], cut)


@pytest.mark.manifest("runs.bad_input")
def test_what_makes_no_sense_is_refused(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    first, second = talk(client, agent.id, 2)
    wrong: list[dict[str, Any]] = [
        {"statuses": "nonsense"},
        {"stop_reason": "nonsense"},
        {"background": "perhaps"},
        {"active": "perhaps"},
        {"order": "up"},
        {"order_by": "name"},
        {"limit": "many"},
    ]
    for query in wrong:
        assert http.get("/v1/runs", params=query).status_code == 422, query
    for limit in (0, 5001):
        assert http.get(f"/v1/runs/{first}/trace", params={"limit": limit}).status_code == 422
    foreign = client.runs.messages.list(second).items[0].id
    with pytest.raises(NotFoundError, match=foreign):
        client.runs.messages.list(first, after=foreign)
    step = client.runs.steps.list(second).items[0].id
    with pytest.raises(NotFoundError, match=step):
        client.runs.steps.list(first, before=step)
    for path in ("", "/messages", "/steps", "/usage", "/metrics", "/trace"):
        assert http.get(f"/v1/runs/nonsense{path}").status_code == 400, path
        assert http.get(f"/v1/runs/{UNKNOWN}{path}").status_code == 404, path
    assert http.delete("/v1/runs/nonsense").status_code == 400
    assert http.delete(f"/v1/runs/{UNKNOWN}").status_code == 404


@pytest.mark.manifest("runs.messages.types")
def test_a_runs_messages_are_of_the_types_that_its_request_wanted(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    wanted: Any = ["assistant_message"]
    client.agents.messages.create(agent.id, input="hi", include_return_message_types=wanted)
    client.agents.messages.create(agent.id, input="hi")
    whole, filtered = client.runs.list(agent_id=agent.id).items
    assert [one.message_type for one in client.runs.messages.list(filtered.id)] == ["assistant_message"]
    assert [one.message_type for one in client.runs.messages.list(whole.id)] == ["user_message", "assistant_message"]
