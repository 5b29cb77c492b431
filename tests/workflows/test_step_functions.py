"""The synthesized state machine, executed, with the real handlers over scripted use cases; and the adapter that starts it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn, Self, cast

import pytest

from functions.events import LONGEST_WAIT, Heartbeat, receipt_of
from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.local.aws_offline.lambdas import abandon
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.ports.meter import NO_METER, Meter
from hibernaut.ports.runs.workflow import STEPS_PER_INVOCATION, Next, RunRef
from hibernaut.ports.storage.table import Contended
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.stop import StopReason
from hibernaut.services.steps.step_lease import AdvanceResult

RUN = RunRef("default", "run-00000000-0000-4000-8000-000000000001")
Answer = Next | AdvanceResult | Exception | Callable[[], Next]


class OfTenant:
    """A double of what is built for a tenant: it stands for all, and notes which one was asked for."""

    tenant = ""

    def of(self, tenant: str) -> Self:
        self.tenant = tenant
        return self


class ScriptedTurns(OfTenant):
    """Answers each step as it was told to."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, str]] = []
        self.seconds: list[float] = []
        self.dropped: list[bool] = []
        self.took_over: list[bool] = []
        self.steps: list[int] = []

    def advance(self, run_id: str, *, time_left: Callable[[], float], steps: int, drop: bool, takes_over: bool) -> AdvanceResult:
        self.steps.append(steps)
        self.calls.append((self.tenant, run_id))
        self.seconds.append(time_left())
        self.dropped.append(drop)
        self.took_over.append(takes_over)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, AdvanceResult):
            return answer
        return AdvanceResult(answer() if callable(answer) else answer, len(self.calls))


class ScriptedCompactions(OfTenant):
    """Answers each call as it was told to, the last answer again and again."""

    meter = NO_METER

    def __init__(self, *answers: AdvanceResult | Exception | Callable[[], NoReturn]) -> None:
        self.answers = list(answers) or [AdvanceResult("advance", 1)]
        self.calls: list[tuple[str, str]] = []
        self.seconds: list[float] = []

    @property
    def compactions(self) -> ScriptedCompactions:
        return self

    def compact(self, run_id: str, *, time_left: Callable[[], float]) -> AdvanceResult:
        self.calls.append((self.tenant, run_id))
        self.seconds.append(time_left())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, AdvanceResult) else answer()


class NotedApprovals(OfTenant):
    """Keeps the names of waits as they come, and the denials."""

    def __init__(self, *errors: Exception, answered: Callable[[str], None] | None = None) -> None:
        self.errors = list(errors)
        self.answered = answered
        self.tokens: list[str] = []
        self.denied: list[tuple[str, str]] = []

    def wait(self, run_id: str, token: str) -> None:
        assert (self.tenant, run_id) == RUN
        if self.errors:
            raise self.errors.pop(0)
        self.tokens.append(token)
        if self.answered is not None:
            self.answered(token)

    def deny_overdue(self, run_id: str) -> str | None:
        self.denied.append((self.tenant, run_id))
        return None


class Steps(NamedTuple):
    """What `advance_turn` is given."""

    turns: ScriptedTurns
    approvals: NotedApprovals
    meter: Meter = NO_METER

    def of(self, tenant: str) -> Steps:
        return Steps(self.turns.of(tenant), self.approvals.of(tenant))


class NotedEndings(OfTenant):
    """Keeps the ends of runs as they come."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.ended: list[tuple[str, str, StopReason]] = []

    @property
    def termination(self) -> NotedEndings:
        return self

    def end(self, run_id: str, reason: StopReason) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.ended.append((self.tenant, run_id, reason))


def driven(
    offline: OfflineAws, *answers: Answer, termination: NotedEndings | None = None
) -> tuple[str, ScriptedTurns, NotedEndings]:
    """Start the run, and wait for the execution's end."""
    turns, termination = ScriptedTurns(answers), termination or NotedEndings()
    offline.lambdas.deps |= {"advance_turn": Steps(turns, NotedApprovals()), "close_run": termination}
    StepFunctions(offline.state_machine).start(RUN)
    return offline.wait_for_run(RUN.run_id), turns, termination


def compacted(offline: OfflineAws, compactions: ScriptedCompactions, *answers: Answer) -> tuple[str, ScriptedTurns, NotedEndings]:
    """As `driven`, with these summaries."""
    offline.lambdas.deps["summarize"] = compactions
    return driven(offline, *answers)


def asked(offline: OfflineAws, seconds: int, approvals: NotedApprovals) -> tuple[str, NotedApprovals]:
    """Start a run that asks for an approval, and wait until its execution ends or rests."""
    turns = ScriptedTurns(["advance", AdvanceResult("approval", 1, seconds)])
    offline.lambdas.deps |= {"advance_turn": Steps(turns, approvals), "request_approval": approvals}
    StepFunctions(offline.state_machine).start(RUN)
    return offline.wait_for_all()[RUN.run_id], approvals


def test_a_run_is_advanced_until_it_is_finished(offline: OfflineAws) -> None:
    status, turns, termination = driven(offline, "advance", "advance", "finished")
    assert (status, turns.calls, termination.ended) == ("SUCCEEDED", [RUN] * 3, [])


def test_a_run_that_waits_in_the_queue_ends_its_execution(offline: OfflineAws) -> None:
    status, turns, _ = driven(offline, "waiting")
    assert (status, len(turns.calls)) == ("SUCCEEDED", 1)


def test_a_step_that_another_attempt_holds_is_asked_for_again(offline: OfflineAws) -> None:
    status, turns, termination = driven(offline, "busy", "busy", "finished")
    assert (status, len(turns.calls), termination.ended) == ("SUCCEEDED", 3, [])


@pytest.mark.parametrize("error", [Contended("busy table"), Conflict("the log does not settle"), OSError("S3 put failed")])
def test_what_time_cures_is_tried_again(offline: OfflineAws, error: Exception) -> None:
    status, turns, termination = driven(offline, "advance", error, error, "finished")
    assert (status, len(turns.calls), termination.ended) == ("SUCCEEDED", 4, [])


def test_what_time_does_not_cure_in_seven_tries_leaves_the_run_open(offline: OfflineAws) -> None:
    status, turns, termination = driven(offline, *[Contended("busy table")] * 8)
    assert (status, len(turns.calls), termination.ended) == ("FAILED", 7, [])


def test_any_other_error_closes_the_run_at_once(offline: OfflineAws) -> None:
    status, turns, termination = driven(offline, "advance", ZeroDivisionError("ours"))
    assert (status, len(turns.calls)) == ("SUCCEEDED", 2)
    assert termination.ended == [(*RUN, StopReason.ERROR)]


def test_a_next_that_the_machine_does_not_know_leaves_the_run_open(offline: OfflineAws) -> None:
    status, turns, termination = driven(offline, cast("Next", "unheard"))
    assert (status, len(turns.calls), termination.ended) == ("FAILED", 1, [])


def test_closing_is_tried_again_too(offline: OfflineAws) -> None:
    status, _, termination = driven(offline, ValueError("ours"), termination=NotedEndings(Contended("busy table")))
    assert (status, termination.ended) == ("SUCCEEDED", [(*RUN, StopReason.ERROR)])


def test_a_run_that_is_gone_needs_no_closing(offline: OfflineAws) -> None:
    status, _, termination = driven(offline, NotFound("Run"), termination=NotedEndings(NotFound("Run")))
    assert (status, termination.ended) == ("SUCCEEDED", [])


def test_a_worker_is_told_how_long_lambda_lets_it_run(offline: OfflineAws) -> None:
    _, turns, _ = driven(offline, "finished")
    assert 890 < turns.seconds[0] <= 900


def test_a_long_run_keeps_its_state_small(offline: OfflineAws) -> None:
    _, turns, _ = driven(offline, *["advance"] * 40, "finished")
    execution = offline.state_machine.replace(":stateMachine:", ":execution:") + f":{RUN.run_id}"
    described = client("stepfunctions").describe_execution(executionArn=execution)
    assert len(turns.calls) == 41
    assert len(described["input"]) + len(described["output"]) < 400


def test_a_window_is_summarised_before_the_step_goes_on(offline: OfflineAws) -> None:
    compactions = ScriptedCompactions()
    status, turns, termination = compacted(offline, compactions, "compact", "finished")
    assert (status, compactions.calls, turns.calls, turns.dropped) == ("SUCCEEDED", [RUN], [RUN] * 2, [False] * 2)
    assert 390 < compactions.seconds[0] <= 400
    assert termination.ended == []


def test_a_summary_that_fails_lets_the_step_drop_old_turns_once(offline: OfflineAws) -> None:
    compactions = ScriptedCompactions(MemoryError("too much"))
    status, turns, termination = compacted(offline, compactions, "advance", "compact", "advance", "finished")
    assert (status, len(compactions.calls), turns.dropped) == ("SUCCEEDED", 1, [False, False, True, False])
    assert termination.ended == []


def test_old_turns_are_dropped_also_where_the_dead_summary_still_holds_the_step(offline: OfflineAws) -> None:
    compactions = ScriptedCompactions(MemoryError("too much"))
    _, turns, _ = compacted(offline, compactions, "compact", "busy", "busy", "advance", "finished")
    assert turns.dropped == [False, True, True, True, False]


def test_whoever_follows_a_dead_summary_takes_the_step_over_and_does_not_wait_for_its_lease(offline: OfflineAws) -> None:
    compactions = ScriptedCompactions(abandon)
    status, turns, termination = compacted(offline, compactions, "compact", abandon, "advance", "finished")
    assert (status, termination.ended, len(compactions.calls)) == ("SUCCEEDED", [], 1)
    assert turns.dropped == [False, True, True, False]
    assert turns.took_over == [False, True, True, False]
    assert turns.steps == [STEPS_PER_INVOCATION, 1, 1, STEPS_PER_INVOCATION], "deaths are counted by step"


def test_a_summary_that_time_cures_is_tried_again(offline: OfflineAws) -> None:
    compactions = ScriptedCompactions(Contended("busy table"), Contended("busy table"), AdvanceResult("advance", 1))
    _, turns, _ = compacted(offline, compactions, "compact", "finished")
    assert (len(compactions.calls), turns.dropped) == (3, [False] * 2)


def test_a_run_that_asks_for_an_approval_waits_and_an_answer_ends_the_wait(offline: OfflineAws) -> None:
    status, approvals = asked(offline, 604_800, NotedApprovals())
    assert (status, len(approvals.tokens)) == ("RUNNING", 1)
    StepFunctions(offline.state_machine).end_wait(RUN, approvals.tokens[0])
    assert (offline.wait_for_run(RUN.run_id), approvals.denied) == ("SUCCEEDED", [])


def test_an_approval_that_was_answered_before_the_wait_began_is_not_waited_for(offline: OfflineAws) -> None:
    workflow = StepFunctions(offline.state_machine)
    _, approvals = asked(offline, 604_800, NotedApprovals(answered=lambda token: workflow.end_wait(RUN, token)))
    assert (offline.wait_for_run(RUN.run_id), approvals.denied) == ("SUCCEEDED", [])


def test_an_approval_that_nobody_answers_is_denied_at_its_deadline(offline: OfflineAws) -> None:
    _, approvals = asked(offline, 100, NotedApprovals())
    assert offline.wait_for_run(RUN.run_id) == "SUCCEEDED"
    assert approvals.denied == [RUN]
    StepFunctions(offline.state_machine).end_wait(RUN, approvals.tokens[0])


def test_a_wait_that_time_cures_is_begun_again(offline: OfflineAws) -> None:
    status, approvals = asked(offline, 604_800, NotedApprovals(Contended("busy table")))
    assert (status, len(approvals.tokens)) == ("RUNNING", 1)


def test_a_wait_that_cannot_begin_denies_nothing(offline: OfflineAws) -> None:
    termination = NotedEndings()
    offline.lambdas.deps["close_run"] = termination
    status, approvals = asked(offline, 604_800, NotedApprovals(ZeroDivisionError("ours")))
    assert (status, approvals.denied, termination.ended) == ("FAILED", [], [])


def test_a_deadline_beyond_the_life_of_an_execution_is_waited_for_as_long_as_it_lives() -> None:
    beat = Heartbeat(tenant="default", run_id="run-1")
    assert receipt_of(beat, AdvanceResult("approval", 1, 10**9))["seconds"] == LONGEST_WAIT < 366 * 24 * 3600
    assert receipt_of(beat, AdvanceResult("approval", 1, 0))["seconds"] == 1


def test_starting_a_run_again_starts_nothing(offline: OfflineAws) -> None:
    driven(offline, "finished")
    turns = ScriptedTurns([])
    offline.lambdas.deps["advance_turn"] = Steps(turns, NotedApprovals())
    StepFunctions(offline.state_machine).start(RUN)
    executions = client("stepfunctions").list_executions(stateMachineArn=offline.state_machine)["executions"]
    assert [execution["name"] for execution in executions] == [RUN.run_id]


def test_the_sweep_starts_a_run_under_another_name(offline: OfflineAws) -> None:
    driven(offline, "advance", ZeroDivisionError("lost"))
    turns = ScriptedTurns(["finished"])
    offline.lambdas.deps["advance_turn"] = Steps(turns, NotedApprovals())
    StepFunctions(offline.state_machine).start(RUN, name=f"{RUN.run_id}.1")
    assert offline.wait_for_run(f"{RUN.run_id}.1") == "SUCCEEDED"
    assert turns.calls == [RUN]


def test_a_stopped_execution_takes_no_further_step(offline: OfflineAws) -> None:
    began, go_on = threading.Event(), threading.Event()

    def held() -> Next:
        began.set()
        go_on.wait(10)
        return "advance"

    turns = ScriptedTurns([held, "finished"])
    offline.lambdas.deps["advance_turn"] = Steps(turns, NotedApprovals())
    workflow = StepFunctions(offline.state_machine)
    workflow.start(RUN)
    assert began.wait(10)
    workflow.stop(RUN)
    go_on.set()
    assert offline.wait_for_run(RUN.run_id) == "ABORTED"


def test_stopping_what_never_ran_and_ending_a_wait_do_no_harm(offline: OfflineAws) -> None:
    workflow = StepFunctions(offline.state_machine)
    workflow.stop(RUN)
    workflow.end_wait(RUN, "no such token")


def test_a_start_that_aws_refuses_is_left_to_the_sweep(offline: OfflineAws, caplog: pytest.LogCaptureFixture) -> None:
    missing = offline.state_machine.replace("heartbeat", "elsewhere")
    with caplog.at_level(logging.WARNING):
        StepFunctions(missing).start(RUN)
    assert [record.message for record in caplog.records] == ["execution not started"]


def test_a_worker_that_dies_is_followed_by_one_that_takes_its_step_over(offline: OfflineAws) -> None:
    status, turns, termination = driven(offline, "advance", abandon, "advance", abandon, "finished")
    assert (status, termination.ended) == ("SUCCEEDED", [])
    assert turns.took_over == [False, False, True, False, True]


def test_a_step_that_kills_two_workers_is_closed(offline: OfflineAws) -> None:
    status, turns, termination = driven(offline, "advance", abandon, abandon)
    assert status == "SUCCEEDED"
    assert [reason for *_, reason in termination.ended] == [StopReason.ERROR]
    assert turns.took_over == [False, False, True]
