"""Spans of a turn as a collector of OpenTelemetry gets them, and a turn whose collector fails."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hibernaut.adapters.tracing import otlp
from hibernaut.adapters.tracing.otlp import BATCH, QUEUE, OtlpExporter, document_of
from hibernaut.adapters.tracing.spans import SpanTracer
from hibernaut.ports.tracing import ActiveSpan, EndedSpan, SpanContext
from hibernaut.schemas.errors import ModelRateLimit
from hibernaut.schemas.stop import RunStatus
from tests.support.clocks import ManualClock
from tests.support.otlp_collector import OtlpCollector
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import World, data_in

PLANTED = "The key hangs behind the clock."
CALLER = SpanContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
HEADER = f"00-{CALLER.trace_id}-{CALLER.span_id}-01"


def exporter_to(url: str) -> OtlpExporter:
    return OtlpExporter(url, lambda: {"api-key": "k"}, {"service.name": "hibernaut"}, background=False)


def world_over(folder: Path, url: str) -> World:
    """The model calls a tool, then answers."""
    data = data_in(folder, in_turn(calls(("knock", {"x": PLANTED})), says(PLANTED)))
    return World(data, tracer=SpanTracer([exporter_to(url)], data.clock))


def ended(number: int = 1) -> EndedSpan:
    return EndedSpan(ActiveSpan(f"step {number}"), SpanContext("1" * 32, "2" * 16), "", 1, 2)


def test_a_run_is_one_trace_with_its_steps_model_calls_and_tools(tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        world = world_over(tmp_path, collector.url)
        run = world.send(world.make_agent(tools=("knock",)), PLANTED)
    assert collector.refusals == []
    assert len(collector.bodies) == 2, "one request for each invocation of the engine"
    (whole,), steps = collector.named("invoke_agent"), collector.named("step")
    chats, (tool,) = collector.named("chat"), collector.named("execute_tool knock")
    assert len({span["traceId"] for span in collector.spans}) == 1
    assert [step["parentSpanId"] for step in steps] == [whole["spanId"]] * 2
    assert [chat["parentSpanId"] for chat in chats] == [step["spanId"] for step in steps]
    assert tool["parentSpanId"] == steps[0]["spanId"]
    assert whole["attributes"]["hibernaut.run.id"] == steps[0]["attributes"]["hibernaut.run.id"] == run
    assert (chats[0]["name"], chats[0]["kind"]) == ("chat scripted", 3)
    facts = chats[0]["attributes"]
    assert (facts["gen_ai.operation.name"], facts["gen_ai.request.model"]) == ("chat", "scripted")
    assert (facts["gen_ai.usage.input_tokens"], facts["gen_ai.usage.output_tokens"]) == (10, 5)
    assert whole["attributes"]["gen_ai.usage.input_tokens"] == 20
    assert collector.headers[0]["api-key"] == "k"


def test_no_text_of_a_conversation_is_exported(tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        world = world_over(tmp_path, collector.url)
        world.send(world.make_agent(blocks={"human": PLANTED}, tools=("knock",)), PLANTED)
    assert len(collector.bodies) >= 2
    assert [body for body in collector.bodies if PLANTED.encode() in body] == []


def test_the_trace_of_the_caller_goes_on_in_every_process(tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        world = world_over(tmp_path, collector.url)
        agent = world.make_agent(tools=("knock",))
        run = world.accept(agent, "Hello", traceparent=HEADER).run_id
        world.advance(run)
        later = World(world.data, holder="host:2", tracer=SpanTracer([exporter_to(collector.url)], world.clock))
        later.sweep()
    assert {span["traceId"] for span in collector.spans} == {CALLER.trace_id}
    (whole,) = collector.named("invoke_agent")
    assert whole["parentSpanId"] == CALLER.span_id
    assert {step["parentSpanId"] for step in collector.named("step")} == {whole["spanId"]}


def test_a_failed_model_call_is_a_span_with_the_code_of_its_error(tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        data = data_in(tmp_path, in_turn(ModelRateLimit(PLANTED)))
        world = World(data, tracer=SpanTracer([exporter_to(collector.url)], data.clock))
        world.send(world.make_agent(), "Hello")
    failed = collector.named("chat")[0]
    assert failed["status"] == {"code": 2, "message": "ModelRateLimit"}
    assert failed["attributes"]["error.type"] == "ModelRateLimit"
    assert not any(PLANTED.encode() in body for body in collector.bodies)


@pytest.mark.parametrize("status", [None, 429, 503])
def test_a_collector_that_fails_fails_no_turn(tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int | None) -> None:
    with OtlpCollector(status or 200) as collector:
        url = collector.url if status else "http://127.0.0.1:9"
        world = world_over(tmp_path, url)
        run = world.send(world.make_agent(tools=("knock",)), "Hello")
    assert world.run(run).run.status == RunStatus.COMPLETED
    assert "spans not exported" in caplog.text


def test_a_collector_that_fails_is_left_alone_for_a_while() -> None:
    with OtlpCollector(503) as collector:
        exporter = exporter_to(collector.url)
        for _ in range(3):
            exporter.take(ended())
            exporter.flush()
        assert len(collector.bodies) == 1


def test_the_queue_is_bounded_and_says_what_it_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with OtlpCollector() as collector, caplog.at_level(logging.WARNING):
        exporter = exporter_to(collector.url)
        for number in range(QUEUE + 3):
            exporter.take(ended(number))
        exporter.flush()
    assert len(collector.spans) == QUEUE
    assert len(collector.bodies) == QUEUE // BATCH
    assert [record.spans for record in caplog.records if record.message == "spans dropped"] == [3]  # type: ignore[attr-defined]


def test_a_server_that_runs_on_sends_from_a_thread_and_the_rest_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "PAUSE", 3600.0)
    with OtlpCollector() as collector:
        exporter = OtlpExporter(collector.url, dict, {"service.name": "hibernaut"}, background=True)
        SpanTracer([exporter], ManualClock()).ended(ended())
        exporter.flush()
        assert collector.spans == []
        exporter.close()
        assert len(collector.spans) == 1


def test_values_have_the_types_of_the_protocol() -> None:
    span = ActiveSpan("x", attributes={"a": True, "b": 2**53 + 1, "c": 0.5, "d": "text"})
    document = document_of([EndedSpan(span, SpanContext("1" * 32, "2" * 16), "", 1, 2)], {})
    found = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"]
    values = {one["key"]: one["value"] for one in found}
    assert values == {
        "a": {"boolValue": True},
        "b": {"intValue": "9007199254740993"},
        "c": {"doubleValue": 0.5},
        "d": {"stringValue": "text"},
    }
