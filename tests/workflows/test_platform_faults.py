"""Lambda fails before a step begins: the run stays open, and the sweep takes it up. By the names that AWS documents, one after
the other.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.storage.table import Contended, TableError
from hibernaut.schemas.errors import MasterKeyUnavailable, StoreUnavailable
from hibernaut.schemas.stop import StopReason
from hibernaut.services.runs.tenant_sweep import PROMPT_RESTARTS
from tests.workflows import faults
from tests.workflows.deployment import Deployment
from tests.workflows.test_step_functions import RUN, NotedApprovals, NotedEndings, ScriptedTurns, Steps

TRIES = 7
"""What the state machine makes of one invocation."""


def refused(offline: OfflineAws, error: str, times: int) -> tuple[str, ScriptedTurns, NotedEndings]:
    """A run whose steps are refused so often by this name, in an execution of its own."""
    turns, termination = ScriptedTurns(["finished"]), NotedEndings()
    offline.lambdas.deps |= {"advance_turn": Steps(turns, NotedApprovals()), "close_run": termination}
    offline.lambdas.refuse("advance_turn", error, times)
    name = f"{RUN.run_id}.{error}"
    StepFunctions(offline.state_machine).start(RUN, name=name)
    return offline.wait_for_run(name), turns, termination


def test_what_lambda_fails_in_for_a_while_delays_the_step(offline: OfflineAws) -> None:
    for error in ("Lambda.ResourceNotReadyException", "Lambda.ServiceException", "Lambda.OfNextYearException"):
        status, turns, termination = refused(offline, error, TRIES - 1)
        assert (error, status, len(turns.calls), termination.ended) == (error, "SUCCEEDED", 1, [])


def test_whatever_lambda_goes_on_failing_in_leaves_the_run_open(offline: OfflineAws) -> None:
    for error in sorted(set(faults.platform()) - set(faults.STATES)):  # those are Step Functions' own: no function can raise them
        status, turns, termination = refused(offline, error, TRIES)
        assert (error, status, turns.calls, termination.ended) == (error, "FAILED", [], [])


@pytest.mark.parametrize("error", ["Lambda.ResourceNotReadyException", "Lambda.TooManyRequestsException"])
def test_a_run_of_an_agent_that_slept_for_weeks_is_taken_up_and_answered(offline: OfflineAws, error: str) -> None:
    here = Deployment(offline)
    agent = here.agent()
    offline.lambdas.refuse("advance_turn", error, 2 * TRIES)
    run_id = here.begin(agent, "Is anybody there?")
    assert offline.wait_for_all() == {run_id: "FAILED", f"{run_id}.1": "FAILED", f"{run_id}.2": "SUCCEEDED"}
    assert (here.run(run_id)["status"], here.knocks) == ("completed", ["front"])
    here.check(agent)


def test_a_run_that_is_throttled_for_minutes_waits_and_is_never_closed(offline: OfflineAws) -> None:
    """Ten executions of seven tries each. The first four follow at once: with the waits of the state machine, two minutes on
    average.
    """
    here = Deployment(offline)
    agent, closings = here.agent(), NotedEndings()
    offline.lambdas.deps["close_run"] = closings
    offline.lambdas.refuse("advance_turn", "Lambda.TooManyRequestsException", 10 * TRIES)
    run_id = here.begin(agent, "Is anybody there?")
    assert list(offline.wait_for_all().values()) == ["FAILED"] * (1 + PROMPT_RESTARTS)
    for minutes in (1, 2, 4, 8, 15, 15, 15):
        assert swept_after(here, timedelta(minutes=minutes, seconds=-30)) == 0, "it is not yet due"
        assert swept_after(here, timedelta(seconds=30)) == 1
    ends = sorted(offline.wait_for_all().values())
    assert (ends, closings.ended) == (["FAILED"] * 10 + ["SUCCEEDED"], [])
    assert (here.run(run_id)["status"], here.knocks) == ("completed", ["front"])


def swept_after(here: Deployment, pause: timedelta) -> Any:
    """The number of runs that the sweep takes up after this pause."""
    here.clock.ahead += pause
    swept = here.aws.fire_schedule()
    here.aws.wait_for_all()
    return swept.payload["started"]


def test_a_table_out_of_reach_leaves_the_run_open(offline: OfflineAws) -> None:
    for number, error in enumerate(
        (Contended("throttled"), StoreUnavailable("busy", 2), MasterKeyUnavailable("KMS", 2), TableError("access denied"))
    ):
        turns, termination = ScriptedTurns([error] * TRIES), NotedEndings()
        offline.lambdas.deps |= {"advance_turn": Steps(turns, NotedApprovals()), "close_run": termination}
        StepFunctions(offline.state_machine).start(RUN, name=f"{RUN.run_id}.{number}")
        assert offline.wait_for_run(f"{RUN.run_id}.{number}") == "FAILED"
        assert (len(turns.calls), termination.ended) == (TRIES, [])


def test_a_step_that_kills_two_workers_is_closed_whatever_the_platform_does_between(offline: OfflineAws) -> None:
    turns, termination = ScriptedTurns([]), NotedEndings()
    offline.lambdas.deps |= {"advance_turn": Steps(turns, NotedApprovals()), "close_run": termination}
    offline.lambdas.refuse("advance_turn", "Sandbox.Timedout", 1)
    offline.lambdas.refuse("advance_turn", "Lambda.TooManyRequestsException", 3)
    offline.lambdas.refuse("advance_turn", "Runtime.ExitError", 1)
    StepFunctions(offline.state_machine).start(RUN)
    assert offline.wait_for_run(RUN.run_id) == "SUCCEEDED"
    assert termination.ended == [(*RUN, StopReason.ERROR)]
