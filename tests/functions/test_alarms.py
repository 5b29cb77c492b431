"""Every alarm of the stack fires when its fault is injected, by the metrics that the real handlers leave in their log, and is
silent before. `test_native_alarms.py` has the alarms on metrics that AWS collects.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.model import ModelRequest
from hibernaut.ports.storage.table import Contended, TableError
from hibernaut.schemas.errors import ModelAuthentication
from hibernaut.services.steps.step_lease import AdvanceResult
from hibernaut.services.turns.turn_engine import TurnEngine
from tests.support.alarm_stories import alarms, firing, watched
from tests.support.alarms import fires
from tests.workflows.deployment import Deployment

TRIES = 7
"""What the state machine makes of one invocation."""


@pytest.fixture
def here() -> Iterator[Deployment]:
    with OfflineAws(time_scale=0.001) as aws:
        yield Deployment(aws)


def test_runs_that_end_well_fire_nothing_until_they_use_a_budget_up(here: Deployment) -> None:
    budget = "steps_per_day=15"
    here.outside, here.inside = (here.composition(in_execution=one, tenant_budget=budget) for one in (False, True))
    here.serve()
    with watched(here) as metrics:
        agent = here.agent()
        for _ in range(6):
            here.send(agent, "Is anybody there?")
        here.aws.fire_schedule()
    assert firing(here.aws, metrics) == set()
    assert metrics.sum("RunsEnded", env="dev") == metrics.sum("RunsEnded", env="dev", stop_reason="end_turn") == 6
    assert metrics.sum("Steps", env="dev") == 12
    assert metrics.sum("RunsFailed", env="dev") == 0
    assert {name for _, name, _ in metrics.values} >= {"ModelLatency", "QueueWait", "ToolLatency", "StepOverhead", "PromptTokens"}
    ours = [dimensions for namespace, _, dimensions in metrics.values if namespace == "Hibernaut"]
    assert {name for dimensions in ours for name, _ in dimensions} <= {"env", "stop_reason", "code", "tool_status", "crossing"}
    with watched(here) as metrics:
        for _ in range(2):
            here.send(agent, "Is anybody there?")
    assert metrics.sum("BudgetsCrossed", env="dev", crossing="limit") == 1
    assert firing(here.aws, metrics) == {"BudgetsCrossed"}


def test_failed_runs_fire_by_their_code_although_their_executions_succeed(here: Deployment) -> None:
    def refuse(_request: ModelRequest) -> None:
        raise ModelAuthentication("AccessDeniedException")

    here.say = refuse  # type: ignore[assignment]
    with watched(here) as metrics:
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

    with watched(here) as metrics:
        monkeypatch.setattr(TurnEngine, "advance", deny)
        run = here.begin(agent, "Is anybody there?")
        here.aws.wait_for_all()
        # The first end was reported and a second execution began; the third waits for the sweep.
        here.clock.ahead += timedelta(minutes=2)
        assert not here.aws.fire_schedule().failed
        ends = list(here.aws.wait_for_all().values())
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
    with watched(here) as metrics:
        throttled = True
        for _ in range(3):
            assert here.ask("GET", f"/v1/agents/{agent}")[0] == 503
    assert firing(here.aws, metrics) == {"TableUnavailable"}


def test_a_slow_table_fires_by_the_time_beyond_the_model(here: Deployment) -> None:
    agent = here.agent()

    def slow(place: str) -> None:
        if place.split()[-1] in ("get", "get_many", "query", "write"):
            here.clock.ahead += timedelta(seconds=1)

    here.at = slow
    with watched(here) as metrics:
        here.send(agent, "Is anybody there?")
    assert fires(alarms(here.aws)["StepOverhead"], metrics)
    assert firing(here.aws, metrics) == set()


def test_items_that_cannot_be_swept_fire(here: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = here.agent()
    here.starts_are_lost(in_execution=False)
    for _ in range(3):
        here.begin(agent, "Is anybody there?")
    here.clock.ahead += timedelta(minutes=20)

    def unreadable(*_: object) -> None:
        raise ValueError("not a record")

    monkeypatch.setattr("hibernaut.services.runs.tenant_sweep.TenantSweep.take_up", unreadable)
    with watched(here) as metrics:
        for _ in range(3):
            assert not here.aws.fire_schedule().failed
            here.clock.ahead += timedelta(minutes=1)
    assert firing(here.aws, metrics) == {"SweepErrors"}


def test_a_sweep_that_takes_up_many_runs_fires_and_so_does_an_old_run(here: Deployment) -> None:
    here.starts_are_lost(in_execution=False)
    agents = [here.agent() for _ in range(25)]
    for agent in agents:
        here.begin(agent, "Hello")
    here.outside = here.composition()
    here.serve()
    here.clock.ahead += timedelta(minutes=20)
    with watched(here) as metrics:
        assert here.aws.fire_schedule().payload == {"started": 25, "closed": 0}
        here.aws.wait_for_all()
    assert firing(here.aws, metrics) == {"SweepTakes"}
    here.starts_are_lost(in_execution=False)
    here.begin(agents[0], "Hello")
    here.clock.ahead += timedelta(minutes=61)
    with watched(here) as metrics:
        assert here.aws.fire_schedule().payload == {"started": 1, "closed": 0}
    assert firing(here.aws, metrics) == {"OpenRuns"}
