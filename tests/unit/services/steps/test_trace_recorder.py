"""What is kept of a model call, and what keeping it may cost and break: one blob, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hibernaut.domain.trace_forms import without_words
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest, ModelError, ModelTimeout
from hibernaut.schemas.models.model_call import Exchange
from hibernaut.services.host import TraceMode
from hibernaut.store.runs.steps import StepStore
from tests.contracts.model.kit.engine import Engine
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World, data_in

INSERT = ("memory_insert", {"label": "human", "new_string": "planted-argument"})


def talked(folder: Path, mode: TraceMode) -> tuple[World, str, int]:
    """A world in which something was said, the run, and the calls of the table that it took."""
    count = [0]

    def counted(number: int, _kind: str) -> None:
        count[0] = number

    data = data_in(folder, in_turn(calls(INSERT, text="planted-thought"), says("planted-reply")))
    world = World(data, wrap=lambda table: CountingTable(table, counted), traces=mode)
    agent_id = world.make_agent(blocks={"human": "planted-memory"})
    before = count[0]
    return world, world.send(agent_id, "planted-question"), count[0] - before


def traces(world: World, run_id: str) -> list[str]:
    steps: StepStore = world.stores.steps
    found = [world.stores.traces.get(run_id, step.id) for step in steps.of_run(run_id)]
    return [trace.model_dump_json() for trace in found if trace is not None]


def test_a_trace_costs_one_blob_and_no_call_of_the_table(tmp_path: Path) -> None:
    off, quiet_run, cheap = talked(tmp_path / "off", "off")
    on, run_id, dear = talked(tmp_path / "on", "on")
    assert dear == cheap
    assert traces(off, quiet_run) == []
    first, second = traces(on, run_id)
    assert "planted-question" in first
    assert "planted-thought" in first
    assert "planted-reply" in second


def test_a_redacted_trace_has_the_form_and_none_of_the_words(tmp_path: Path) -> None:
    world, run_id, _ = talked(tmp_path, "redacted")
    found = traces(world, run_id)
    assert len(found) == 2
    assert not any("planted" in trace for trace in found)
    assert all(" characters>" in trace for trace in found)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True, "stop": ["a"]}
    assert without_words(body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "<2 characters>"}],
        "stream": True,
        "stop": ["<1 characters>"],
    }


REFUSED = {"status": 400, "body": {"error": {"type": "invalid_request_error", "message": "planted-refusal"}}}


def refused(received: JsonObject = REFUSED) -> ModelBadRequest:
    """An error as an adapter raises it."""
    error = ModelBadRequest("openai: planted-refusal (status 400)")
    error.exchange = Exchange(sent={"model": "m", "input": "planted-question"}, received=received)
    return error


def failed(folder: Path, error: ModelError, mode: TraceMode = "on") -> tuple[World, str]:
    """A world in which a model call failed, and its run."""
    world = World(data_in(folder, in_turn(error)), traces=mode)
    return world, world.send(world.make_agent(), "planted-question")


def test_a_failed_call_leaves_what_was_sent_and_the_providers_error(tmp_path: Path) -> None:
    world, run_id = failed(tmp_path, refused())
    (step,) = world.stores.steps.of_run(run_id)
    trace = world.stores.traces.get(run_id, step.id)
    assert trace is not None
    assert (step.status, trace.step_id, trace.run_id) == ("failed", step.id, run_id)
    assert trace.request_json == {"model": "m", "input": "planted-question"}
    error = {"type": "llm_bad_request", "message": "openai: planted-refusal (status 400)"}
    assert trace.response_json == {"error": error, **REFUSED}


def test_a_call_without_an_answer_leaves_what_was_sent_too(tmp_path: Path) -> None:
    world, run_id = failed(tmp_path, ModelTimeout("no answer in time"))
    (step,) = world.stores.steps.of_run(run_id)
    trace = world.stores.traces.get(run_id, step.id)
    assert trace is not None
    assert "planted-question" in str(trace.request_json)
    assert trace.response_json == {"error": {"type": "llm_timeout", "message": "no answer in time"}}


def test_a_request_that_is_refused_before_it_is_sent_leaves_the_error_alone(tmp_path: Path) -> None:
    with ScriptedOpenAI(models=[{"id": "gpt-6-astra"}]) as server:
        engine = Engine(tmp_path, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}, traces="on")
        engine.make_agent("openai/gpt-6-astra")
        run = engine.send("planted-question")
        (step,) = engine.world.stores.steps.of_run(run.id)
        trace = engine.world.stores.traces.get(run.id, step.id)
        engine.close()
    assert server.requests == []
    assert trace is not None
    assert trace.request_json == {}
    assert trace.response_json["error"]["type"] == "llm_bad_request"
    assert "takes tools only through the Responses API" in trace.response_json["error"]["message"]


def test_of_a_failed_call_redaction_leaves_the_form_and_off_leaves_nothing(tmp_path: Path) -> None:
    world, run_id = failed(tmp_path / "redacted", refused(), "redacted")
    (trace,) = traces(world, run_id)
    assert "planted" not in trace
    assert "llm_bad_request" in trace
    assert "invalid_request_error" in trace
    world, run_id = failed(tmp_path / "off", refused(), "off")
    assert traces(world, run_id) == []


@pytest.mark.parametrize(("mode", "body"), [("on", "\ud800"), ("redacted", json.loads("[" * 900 + "]" * 900))])
def test_a_body_that_no_trace_can_hold_leaves_the_runs_error_as_it_is(tmp_path: Path, mode: TraceMode, body: Json) -> None:
    world, run_id = failed(tmp_path, refused({"body": body}), mode)
    assert traces(world, run_id) == []
    run = world.stores.runs.get(run_id)
    assert run is not None
    assert run.run.error is not None
    assert run.run.error.code == "llm_bad_request"


def test_a_trace_that_cannot_be_kept_fails_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("hibernaut.store.runs.traces.Traces.put", full)
    world, run_id, _ = talked(tmp_path, "on")
    assert world.response(run_id).messages[-1].content == "planted-reply"  # type: ignore[union-attr]
    assert traces(world, run_id) == []
