"""Each trigger of the workflow dropped in turn, with the real handlers: what is lost is taken up, by EventBridge's rule or by the
sweep.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from hibernaut.domain.turn.approvals import OVERDUE
from hibernaut.local.aws_offline.moto.executions import ExecutionEnded
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.aws_offline.rules import status_change
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.schemas.usage import Usage
from hibernaut.services.steps.step_lease import AdvanceResult
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.wiring.run_engine import RunEngines
from tests.support.waiting import eventually
from tests.workflows.deployment import Deployment, knocks_once

GUARDED = [{"type": "requires_approval", "tool_name": "knock"}]


class FailingTurns:
    """Raises for the first so many steps; all else is the real chain's."""

    def __init__(self, engines: RunEngines, failures: int) -> None:
        self.turns, self.meter = self, engines.meter
        self._engines, self._failures = engines, failures

    def of(self, tenant: str) -> FailingTurns:
        self.approvals, self._turns = self._engines.of(tenant).approvals, self._engines.of(tenant).turns
        return self

    def advance(self, *asked: Any, **how: Any) -> AdvanceResult:
        if self._failures:
            self._failures -= 1
            raise ZeroDivisionError("ours")
        return self._turns.advance(*asked, **how)


class Broken:
    """A use case that is not there, whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


class LateApprovals:
    """The real ones, of whom nobody hears before he is told to go on."""

    def __init__(self, approvals: ApprovalAnswers) -> None:
        self._approvals = approvals
        self.go_on = threading.Event()

    def of(self, _tenant: str) -> LateApprovals:
        return self

    def wait(self, run_id: str, token: str) -> None:
        assert self.go_on.wait(20)
        self._approvals.wait(run_id, token)


def lose_the_closing(here: Deployment) -> None:
    """The next step fails, and so does the closing of its run: the execution has failed."""
    here.aws.lambdas.deps |= {"advance_turn": FailingTurns(here.inside.engines, 1), "close_run": Broken()}


def test_a_run_whose_workflow_never_started_is_started_by_the_sweep(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    here.starts_are_lost(in_execution=False)
    run_id = here.begin(agent, "Is anybody there?")
    assert offline.executions() == []
    here.outside = here.composition()
    here.go_on_later(minutes=2)
    assert (offline.executions(), here.run(run_id)["status"]) == ([f"{run_id}.1"], "completed")
    here.check(agent)


def test_a_run_that_is_not_yet_due_is_left_alone_by_the_sweep(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    here.starts_are_lost(in_execution=False)
    here.begin(agent, "Is anybody there?")
    here.outside = here.composition()
    here.go_on_later(minutes=0)
    assert offline.executions() == []


def test_a_run_whose_closing_was_lost_is_taken_up_at_once_by_the_rule(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    lose_the_closing(here)
    run_id = here.begin(agent, "Is anybody there?")
    assert offline.wait_for_all() == {run_id: "FAILED", f"{run_id}.1": "SUCCEEDED"}
    assert here.run(run_id)["status"] == "completed"
    here.serve()
    here.check(agent)


def test_where_the_rule_is_lost_too_the_sweep_takes_it_up(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    offline.rules.deliveries = 0
    lose_the_closing(here)
    run_id = here.begin(agent, "Is anybody there?")
    assert offline.wait_for_all() == {run_id: "FAILED"}
    assert here.run(run_id)["status"] == "running"
    here.go_on_later(minutes=2)
    assert (offline.wait_for_all()[f"{run_id}.1"], here.run(run_id)["status"]) == ("SUCCEEDED", "completed")
    here.check(agent)


def test_an_event_that_is_delivered_twice_takes_a_run_up_once(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    offline.rules.deliveries = 2
    lose_the_closing(here)
    run_id = here.begin(agent, "Is anybody there?")
    assert set(offline.wait_for_all()) == {run_id, f"{run_id}.1"}
    assert here.knocks == ["front"]
    here.serve()
    here.check(agent)


def test_a_queued_run_whose_start_is_lost_at_the_handing_over_is_taken_up(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    here.starts_are_lost(in_execution=True)
    held, go_on = threading.Event(), threading.Event()

    def say(request: ModelRequest) -> ModelReply:
        held.set()
        go_on.wait(20)
        return knocks_once(request)

    here.say = say
    first = here.begin(agent, "Is anybody there?")
    assert held.wait(20)
    second = here.begin(agent, "Am I next?")
    go_on.set()
    assert set(offline.wait_for_all()) == {first}
    assert (here.run(first)["status"], here.run(second)["status"]) == ("completed", "running")
    here.go_on_later(minutes=2)
    assert (offline.wait_for_all()[f"{second}.1"], here.run(second)["status"]) == ("SUCCEEDED", "completed")
    here.check(agent)


def test_a_function_whose_execution_is_stopped_from_outside_ends_its_run(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    run_id, go_on = stopped_in_a_step(here, agent)
    go_on.set()
    assert eventually(lambda: here.run(run_id)["status"] != "running")
    assert (here.run(run_id)["status"], here.knocks) == ("completed", ["front"])
    assert offline.wait_for_all() == {run_id: "ABORTED"}
    here.check(agent)


def test_a_run_whose_execution_is_stopped_from_outside_goes_on(offline: OfflineAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function ends with the step that it was at, as it does after fifty steps or half of its time."""
    monkeypatch.setattr("functions.advance_turn.handler.STEPS_PER_INVOCATION", 1)
    here = Deployment(offline)
    agent = here.agent()
    run_id, go_on = stopped_in_a_step(here, agent)
    go_on.set()
    assert eventually(lambda: [one for one in here.messages(agent) if one["message_type"] == "tool_return_message"])
    here.go_on_later()
    assert (offline.wait_for_all()[f"{run_id}.1"], here.run(run_id)["status"]) == ("SUCCEEDED", "completed")
    here.check(agent)


def stopped_in_a_step(here: Deployment, agent: str) -> tuple[str, threading.Event]:
    """A run whose execution was stopped while a function asks the model, and what lets the model answer."""
    held, go_on = threading.Event(), threading.Event()

    def say(request: ModelRequest) -> ModelReply:
        held.set()
        go_on.wait(20)
        return knocks_once(request)

    here.say = say
    run_id = here.begin(agent, "Is anybody there?")
    assert held.wait(20)
    execution = here.aws.state_machine.replace(":stateMachine:", ":execution:") + f":{run_id}"
    client("stepfunctions").stop_execution(executionArn=execution)
    # Its function is at the step: the rule leaves the run to it, and what the function has done is kept.
    assert here.aws.wait_for_all() == {run_id: "ABORTED"}
    return run_id, go_on


def test_an_execution_that_is_stopped_between_two_steps_is_replaced_at_once(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent = here.agent()
    lose_the_closing(here)
    offline.rules.deliveries = 0
    run_id = here.begin(agent, "Is anybody there?")
    offline.wait_for_all()
    here.serve()
    stopped = event_of(offline, run_id, "ABORTED")
    assert offline.invoke("sweep_runs", stopped) == {"started": 1, "closed": 0}
    assert offline.wait_for_all()[f"{run_id}.1"] == "SUCCEEDED"
    # What is heard of the first one later is heard too late.
    assert offline.invoke("sweep_runs", stopped) == {"started": 0, "closed": 0}
    here.check(agent)


def event_of(offline: OfflineAws, name: str, status: str) -> Any:
    """What EventBridge would tell of an execution's end."""
    order = json.dumps({"tenant": "default", "run_id": name.partition(".")[0]})
    ended = ExecutionEnded(f"{offline.state_machine}:{name}", offline.state_machine, status, 0, 1, order, None, None)
    return status_change(ended)


def test_an_approval_is_waited_for_and_its_answer_goes_on_as_a_run_of_its_own(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent, asking, call = asked(here)
    assert offline.wait_for_all() == {asking: "RUNNING"}
    status, reply = answer(here, agent, call, approve=True)
    assert (status, reply["stop_reason"]["stop_reason"], here.knocks) == (200, "end_turn", ["front"])
    assert offline.wait_for_run(asking) == "SUCCEEDED"
    assert sorted(offline.wait_for_all().values()) == ["SUCCEEDED", "SUCCEEDED"]
    here.check(agent)


def test_an_approval_that_nobody_answers_is_denied_by_the_workflow(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent, asking, _ = asked(here, approval_deadline=50)
    assert offline.wait_for_run(asking) == "SUCCEEDED"
    offline.wait_for_all()
    assert here.knocks == []
    assert OVERDUE in denial(here, agent)
    here.check(agent)


def test_where_the_wait_cannot_begin_the_sweep_keeps_the_deadline(offline: OfflineAws) -> None:
    here = Deployment(offline)
    offline.lambdas.deps["request_approval"] = Broken()
    agent, asking, _ = asked(here, approval_deadline=3600)
    assert offline.wait_for_all() == {asking: "FAILED"}
    here.go_on_later(minutes=50)
    assert denial(here, agent) == ""
    here.go_on_later(minutes=11)
    assert OVERDUE in denial(here, agent)
    here.check(agent)


def test_a_wait_whose_end_is_lost_denies_nothing_at_its_deadline(offline: OfflineAws) -> None:
    here = Deployment(offline)
    agent, asking, call = asked(here, approval_deadline=2000)
    offline.wait_for_all()
    stores = here.inside.stores.of("default")
    token = stores.approvals.get(asking)
    assert token is not None
    stores.writer.write(stores.approvals.keep_token(asking, "of a wait that is not there"), token="lost")
    assert answer(here, agent, call, approve=True)[0] == 200
    assert offline.wait_for_run(asking) == "SUCCEEDED"
    assert (here.knocks, denial(here, agent)) == (["front"], "")
    here.inside.host.workflow.end_wait(RunRef("default", asking), token.task_token)
    here.check(agent)


def test_an_answer_that_is_quicker_than_the_wait_leaves_nothing_waiting(offline: OfflineAws) -> None:
    here = Deployment(offline)
    late = LateApprovals(here.inside.engines.of("default").approvals)
    offline.lambdas.deps["request_approval"] = late
    agent, asking, call = asked(here)
    assert answer(here, agent, call, approve=True)[0] == 200
    late.go_on.set()
    assert (offline.wait_for_run(asking), here.knocks) == ("SUCCEEDED", ["front"])
    here.check(agent)


def test_a_summary_that_cannot_be_made_drops_old_turns_and_the_run_goes_on(offline: OfflineAws) -> None:
    here = Deployment(offline)
    offline.lambdas.deps["summarize"] = Broken()
    agent = here.agent(context_window_limit=6000)
    here.say = lambda request: ModelReply(
        "Noted.", usage=Usage(prompt_tokens=sum(len(row.text()) for row in request.messages) // 5)
    )
    for number in range(6):
        status, reply = here.send(agent, f"{number} " + "long " * 1200)
        assert (status, reply["stop_reason"]["stop_reason"]) == (200, "end_turn"), reply
    last = here.models.requests[-1]
    assert [row.text()[:1] for row in last.messages if row.role == "user"][-1] == "5"
    assert len(last.messages) < 10
    assert len([one for one in here.messages(agent) if one["message_type"] == "user_message"]) == 6
    here.serve()
    here.check(agent)


def asked(here: Deployment, **fields: Any) -> tuple[str, str, str]:
    """An agent that asks to knock: its id, the run's and the call's."""
    agent = here.agent(tool_rules=GUARDED)
    status, reply = here.send(agent, "Is anybody there?", **fields)
    assert (status, reply["stop_reason"]["stop_reason"]) == (200, "requires_approval"), reply
    (request,) = (one for one in reply["messages"] if one["message_type"] == "approval_request_message")
    return agent, request["run_id"], request["tool_call"]["tool_call_id"]


def answer(here: Deployment, agent: str, call: str, *, approve: bool) -> tuple[int, Any]:
    given = {"type": "approval", "approvals": [{"type": "approval", "tool_call_id": call, "approve": approve}]}
    return here.ask("POST", f"/v1/agents/{agent}/messages", {"messages": [given]})


def denial(here: Deployment, agent: str) -> str:
    """What the model read of a denial."""
    returns = [one for one in here.messages(agent) if one["message_type"] == "tool_return_message"]
    return str([one["tool_return"] for one in returns if one["status"] == "error"] or "")
