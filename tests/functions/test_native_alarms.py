"""Each alarm on a metric that AWS collects fires by what the offline stack does, counted as AWS documents the metric, and is
silent before. The metrics of all alarms and graphs are documented ones.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from functions.metrics import METRICS
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.services.turns.turn_engine import TurnEngine
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.settings import AwsSettings
from infra.artifacts import ROOT
from tests.support.alarm_stories import alarms, firing, place_of, watched
from tests.support.alarms import Metrics
from tests.support.counted_aws import THROTTLED
from tests.support.native_metrics import metrics_of, undocumented
from tests.workflows.deployment import Deployment


@pytest.fixture
def here() -> Iterator[Deployment]:
    with OfflineAws(time_scale=0.001) as aws:
        yield Deployment(aws)


def test_functions_that_die_or_are_throttled_and_a_failed_sweep_fire(here: Deployment) -> None:
    with watched(here) as metrics:
        for _ in range(5):
            assert here.ask("GET", "/v1/agents/")[0] == 200
        here.aws.fire_schedule()
    assert firing(here.aws, metrics) == set()

    here.aws.lambdas.refuse("api", "Runtime.ExitError", 5)
    with watched(here) as metrics:
        assert {here.ask("GET", "/v1/agents/")[0] for _ in range(5)} == {502}
    assert firing(here.aws, metrics) == {"GatewayErrors"}

    here.aws.lambdas.refuse("api", THROTTLED, 10)
    with watched(here) as metrics:
        assert {here.ask("GET", "/v1/agents/")[0] for _ in range(10)} == {502}
    # The callers of a throttled function see errors of the gateway.
    assert firing(here.aws, metrics) == {"FunctionThrottles", "GatewayErrors"}

    here.aws.lambdas.refuse("sweep_runs", "Sandbox.Timedout", 1)
    with watched(here) as metrics:
        assert here.aws.fire_schedule().failed
    assert firing(here.aws, metrics) == {"DeadLetters"}


def test_a_scheduler_that_invokes_nothing_fires(here: Deployment) -> None:
    with watched(here) as metrics:
        here.ask("GET", "/v1/agents/")
    scheduled = place_of(here.aws, "SweepMissing")
    del metrics.values[scheduled[0], scheduled[1], frozenset(scheduled[2].items())]
    assert firing(here.aws, metrics) == {"SweepMissing"}
    metrics.put(*scheduled, 0)
    assert firing(here.aws, metrics) == {"SweepMissing"}


def test_an_execution_beyond_its_time_limit_fires(here: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = client("stepfunctions").describe_state_machine(stateMachineArn=here.aws.state_machine)
    limited = json.dumps({**json.loads(machine["definition"]), "TimeoutSeconds": 1})
    client("stepfunctions").update_state_machine(stateMachineArn=here.aws.state_machine, definition=limited)
    over = threading.Event()
    monkeypatch.setattr(TurnEngine, "advance", lambda *_, **__: over.wait(30) and None)
    try:
        with watched(here) as metrics:
            run = here.begin(here.agent(), "Is anybody there?")
            assert here.aws.wait_for_run(run) == "TIMED_OUT"
    finally:
        over.set()
    assert firing(here.aws, metrics) == {"TimedOutExecutions"}


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_an_index_fires_whose_stream_or_whose_pointers_wait(here: Deployment) -> None:
    here.send(here.agent(), "The harbour opens at nine.")
    here.aws.lambdas.refuse("index_memory", "Runtime.ExitError", 1)
    with watched(here) as metrics:
        here.aws.pump()
    assert firing(here.aws, metrics) == set()

    here.clock.ahead += timedelta(minutes=16)
    with watched(here) as metrics:
        here.aws.pump()
    assert firing(here.aws, metrics) == {"IndexLag"}

    here.send(here.agent(), "The harbour opens at ten.")
    unreachable = replace(AwsSettings.from_environment(), opensearch=f"http://127.0.0.1:{closed_port()}")
    here.aws.lambdas.deps["index_memory"] = wiring.feeding(unreachable, wiring.AwsOverrides(clock=here.clock))
    with watched(here) as metrics:
        here.aws.fire_schedule("index_memory")
    assert firing(here.aws, metrics) == set()
    here.clock.ahead += timedelta(minutes=16)
    with watched(here) as metrics:
        here.aws.fire_schedule("index_memory")
    assert firing(here.aws, metrics) == {"IndexLag"}


def test_throttled_transitions_fire_from_their_threshold(here: Deployment) -> None:
    """Nothing in this process throttles Step Functions, so that the value is put in by hand."""
    place = place_of(here.aws, "WorkflowThrottles")
    with watched(here) as below:
        pass
    at = Metrics(dict(below.values))
    below.put(*place, 9)
    at.put(*place, 10)
    assert [firing(here.aws, metrics) for metrics in (below, at)] == [set(), {"WorkflowThrottles"}]
    assert place[:2] == ("AWS/States", "ExecutionThrottled")


def test_every_alarm_names_documented_metrics_and_has_its_paragraph_in_the_runbook(here: Deployment) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for name, alarm in alarms(here.aws).items():
        assert [wrong for metric in metrics_of(alarm) if (wrong := undocumented(*metric))] == [], name
        assert metrics_of(alarm)
        assert alarm["AlarmDescription"].endswith(f"docs/operations.md#{name.lower()}")
        assert f"\n### {name}\n" in page


@pytest.mark.parametrize(
    ("metric", "wrong"),
    [
        (("AWS/Lambda", "Throttle", frozenset({"FunctionName"}), "Sum"), "no metric Throttle"),
        (("AWS/SQS", "ApproximateNumberOfMessagesVisible", frozenset({"Queue"}), "Maximum"), "no data for the dimensions"),
        (("AWS/States", "ExecutionsFailed", frozenset({"StateMachineArn"}), "p95"), "means nothing"),
        (("Hibernaut", "RunsFail", frozenset({"env"}), "Sum"), "the functions make no metric RunsFail"),
        (("Hibernaut", "BudgetsCrossed", frozenset({"env", "level"}), "Sum"), "no data for the dimensions"),
        (("Hibernaut", "OpenRunAge", frozenset({"env"}), "Sum"), "means nothing"),
    ],
)
def test_a_typing_error_in_a_metric_is_found(metric: tuple[str, str, frozenset[str], str], wrong: str) -> None:
    assert wrong in undocumented(*metric)


def test_no_metric_has_a_field_that_the_log_writes_itself() -> None:
    """The log's own `level` would replace that of a line, and the dimension would be WARNING."""
    own = {"level", "location", "message", "timestamp", "service", "xray_trace_id"}
    fields = {field for metrics in METRICS.values() for metric in metrics for field in (metric.field, metric.by)}
    assert not fields & own
