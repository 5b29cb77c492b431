"""Every alarm of the stack fires when its fault is injected, by the metrics that the real handlers leave in their log, and is silent
before. Metrics that AWS itself collects are put where this process has no CloudWatch, by the documented meaning of each.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from functions.log import log
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.model import ModelRequest
from hibernaut.ports.table import Contended, TableError
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelAuthentication
from hibernaut.services.steps.step_lease import AdvanceResult
from hibernaut.services.turns.turn_engine import TurnEngine
from infra.artifacts import ROOT
from tests.support.alarms import Metrics, fires
from tests.workflows.deployment import Deployment

TRIES = 7
"""What the state machine makes of one invocation."""


@pytest.fixture
def here() -> Iterator[Deployment]:
    with OfflineAws(time_scale=0.001) as aws:
        yield Deployment(aws)


@contextmanager
def watched() -> Iterator[Metrics]:
    """The metrics of what is logged in the context."""
    seen, metrics = io.StringIO(), Metrics()
    handler = logging.StreamHandler(seen)
    handler.setFormatter(log().registered_formatter)
    logger = logging.getLogger("hibernaut")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield metrics
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        metrics.read(seen.getvalue().splitlines())


def alarms(aws: OfflineAws) -> dict[str, JsonObject]:
    """The alarms by name, with their references resolved."""
    found = {one.name.removeprefix("Alarms")[:-8]: one.properties for one in aws.stack.of_type("AWS::CloudWatch::Alarm")}
    assert len(found) == 12
    return found


def firing(aws: OfflineAws, metrics: Metrics) -> set[str]:
    """The alarms that fire, without `StepOverhead`: its figures are this machine's times."""
    return {name for name, alarm in alarms(aws).items() if fires(alarm, metrics)} - {"StepOverhead"}


def dimension(aws: OfflineAws, alarm: str, *, number: int = 0) -> tuple[str, str, dict[str, str]]:
    """Namespace, name and dimensions of an alarm's metric."""
    made = alarms(aws)[alarm]
    metric = (
        made if "MetricName" in made else [one["MetricStat"]["Metric"] for one in made["Metrics"] if "MetricStat" in one][number]
    )
    return metric["Namespace"], metric["MetricName"], {one["Name"]: one["Value"] for one in metric["Dimensions"]}


def test_runs_that_end_well_fire_nothing(here: Deployment) -> None:
    with watched() as metrics:
        agent = here.agent()
        for _ in range(6):
            here.send(agent, "Is anybody there?")
        here.aws.fire_schedule()
    assert firing(here.aws, metrics) == set()
    assert metrics.sum("RunsEnded", env="dev") == metrics.sum("RunsEnded", env="dev", stop_reason="end_turn") == 6
    assert metrics.sum("Steps", env="dev") == 12
    assert metrics.sum("RunsFailed", env="dev") == 0
    assert {name for _, name, _ in metrics.values} >= {"ModelLatency", "QueueWait", "ToolLatency", "StepOverhead", "PromptTokens"}


def test_dimensions_are_the_environment_and_codes_of_fixed_lists(here: Deployment) -> None:
    with watched() as metrics:
        here.send(here.agent(), "Is anybody there?")
    assert {name for _, _, dimensions in metrics.values for name, _ in dimensions} <= {
        "env",
        "stop_reason",
        "code",
        "tool_status",
    }


def test_failed_runs_fire_by_their_code_although_their_executions_succeed(here: Deployment) -> None:
    def refuse(_request: ModelRequest) -> None:
        raise ModelAuthentication("AccessDeniedException")

    here.say = refuse  # type: ignore[assignment]
    with watched() as metrics:
        agent = here.agent()
        runs = [here.begin(agent, "Is anybody there?") for _ in range(5)]
        assert set(here.aws.wait_for_all().values()) == {"SUCCEEDED"}
    assert {here.run(one)["status"] for one in runs} == {"failed"}
    assert firing(here.aws, metrics) == {"FailedRuns"}
    assert metrics.sum("RunsFailed", env="dev", code=ModelAuthentication.code) == 5


def test_a_table_that_denies_access_in_every_step_fires(here: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = here.agent()
    advance, denied = TurnEngine.advance, iter(range(2 * TRIES))

    def deny(engine: TurnEngine, run_id: str, **more: Any) -> AdvanceResult:
        if next(denied, None) is not None:
            raise TableError("AccessDeniedException")
        return advance(engine, run_id, **more)

    with watched() as metrics:
        monkeypatch.setattr(TurnEngine, "advance", deny)
        run = here.begin(agent, "Is anybody there?")
        here.aws.wait_for_all()
        # The first end was reported and a second execution began; the third waits for the sweep.
        here.clock.ahead += timedelta(minutes=2)
        assert not here.aws.fire_schedule().failed
        ends = list(here.aws.wait_for_all().values())
    metrics.put(*dimension(here.aws, "FailedExecutions"), ends.count("FAILED"))
    assert (sorted(ends), here.run(run)["status"]) == (["FAILED", "FAILED", "SUCCEEDED"], "completed")
    assert firing(here.aws, metrics) == {"FailedExecutions"}
    assert metrics.sum("PlatformFailures", env="dev", error="TableError") == 2 * TRIES


def test_a_table_that_stays_busy_fires(here: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hibernaut.store.table.retries.BUDGET", 0.1)
    agent = here.agent()

    def busy(place: str) -> None:
        if throttled:
            raise Contended("ThrottlingException")
        assert place

    throttled = False
    here.at = busy
    with watched() as metrics:
        throttled = True
        for _ in range(3):
            assert here.ask("GET", f"/v1/agents/{agent}")[0] == 503
    assert "TableUnavailable" in firing(here.aws, metrics)


def test_items_that_cannot_be_swept_fire(here: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = here.agent()
    here.starts_are_lost(in_execution=False)
    for _ in range(3):
        here.begin(agent, "Is anybody there?")
    here.clock.ahead += timedelta(minutes=20)

    def unreadable(*_: object) -> None:
        raise ValueError("not a record")

    monkeypatch.setattr("hibernaut.services.runs.tenant_sweep.TenantSweep.take_up", unreadable)
    with watched() as metrics:
        for _ in range(3):
            assert not here.aws.fire_schedule().failed
            here.clock.ahead += timedelta(minutes=1)
    assert firing(here.aws, metrics) == {"SweepErrors"}


def test_a_sweep_that_takes_up_many_runs_fires(here: Deployment) -> None:
    here.starts_are_lost(in_execution=False)
    agents = [here.agent() for _ in range(25)]
    for agent in agents:
        here.begin(agent, "Hello")
    here.outside = here.composition()
    here.serve()
    here.clock.ahead += timedelta(minutes=20)
    with watched() as metrics:
        assert here.aws.fire_schedule().payload == {"started": 25, "closed": 0}
        here.aws.wait_for_all()
    assert firing(here.aws, metrics) == {"SweepTakes"}


@pytest.mark.parametrize(
    ("alarm", "value"),
    [
        ("TimedOutExecutions", 1),
        ("WorkflowThrottles", 10),
        ("GatewayErrors", 5),
        ("DeadLetters", 1),
        ("IndexLag", 15 * 60 * 1000),
        ("FunctionThrottles", 10),
        ("StepOverhead", 2000),
    ],
)
def test_what_aws_itself_counts_fires_from_its_threshold(here: Deployment, alarm: str, value: int) -> None:
    place = dimension(here.aws, alarm)
    below, at = Metrics(), Metrics()
    below.put(*place, value - 1)
    at.put(*place, value)
    found = alarms(here.aws)
    assert [[name for name in found if fires(found[name], metrics)] for metrics in (below, at)] == [[], [alarm]]


def test_every_alarm_has_its_paragraph_in_the_runbook(here: Deployment) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for name, alarm in alarms(here.aws).items():
        assert alarm["AlarmDescription"].endswith(f"docs/operations.md#{name.lower()}")
        assert f"\n### {name}\n" in page
