"""Runs whose caller waits: the function `stream` drives them, and the state machine takes over what it cannot end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.lambdas import abandon, current_function
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.model import ModelReply, ModelRequest
from tests.support.scripted_model import calls, says
from tests.workflows.deployment import Deployment

ASK = "Is anybody there?"
BOUND = timedelta(seconds=30 + 60 + 60)
"""The lease, the time for which the sweep leaves an open run alone, and the interval of the sweep."""


@pytest.fixture(scope="module")
def aws() -> Iterator[OfflineAws]:
    with OfflineAws(time_scale=0.001) as offline:
        yield offline


@pytest.fixture
def here(aws: OfflineAws) -> Deployment:
    made = Deployment(aws)
    made.drive_for_callers()
    made.known = set(aws.executions())  # type: ignore[attr-defined]
    return made


def begun(here: Deployment) -> list[str]:
    """The executions since the beginning of the test."""
    return sorted(set(here.aws.executions()) - here.known)  # type: ignore[attr-defined]


def run_of(here: Deployment, agent: str) -> Any:
    (run,) = here.ask("GET", "/v1/runs/", query=f"agent_id={agent}")[1]
    return run


def events(here: Deployment, agent: str, **fields: Any) -> list[Any]:
    body = {"messages": [{"role": "user", "content": ASK}], "streaming": True, **fields}
    headers = [("Content-Type", "application/json"), ("Host", "localhost")]
    request = GatewayRequest("POST", f"/v1/agents/{agent}/messages/stream", "", headers, json.dumps(body).encode())
    lines = here.aws.gateway.answer(request).body.decode().splitlines()
    assert [line for line in lines if line][-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def test_a_blocking_message_and_its_tools_need_no_execution(here: Deployment) -> None:
    agent = here.agent()
    status, reply = here.send(agent, ASK)
    kinds = [message["message_type"] for message in reply["messages"]]
    assert (status, kinds) == (200, ["tool_call_message", "tool_return_message", "assistant_message"])
    assert (begun(here), here.knocks) == ([], ["front"])
    here.check(agent)


def test_a_stream_needs_no_execution(here: Deployment) -> None:
    told = [event["message_type"] for event in events(here, here.agent())]
    assert told[0] == "ping"
    assert told[-2:] == ["stop_reason", "usage_statistics"]
    assert begun(here) == []


def test_a_background_stream_belongs_to_the_state_machine(here: Deployment) -> None:
    agent = here.agent()
    events(here, agent, background=True)
    assert begun(here) == [run_of(here, agent)["id"]]


def test_a_window_that_needs_a_summary_is_left_to_the_state_machine(here: Deployment) -> None:
    here.models.context_window = 2600
    here.say = lambda request: says("They talked." if not request.tools else "done, " * 200)
    agent = here.agent(context_window_limit=2600)
    for text in "abc":
        status, reply = here.send(agent, f"{text} " * 400)
        assert (status, reply["stop_reason"]["stop_reason"]) == (200, "end_turn")
    assert begun(here)
    assert set(here.aws.wait_for_all().values()) == {"SUCCEEDED"}


def test_a_message_that_came_meanwhile_has_an_execution(here: Deployment) -> None:
    agent = here.agent()
    later: list[str] = []

    def say(request: ModelRequest) -> ModelReply:
        if not later:
            later.append(here.begin(agent, "And me?"))
        return says("Yes.")

    here.say = say
    assert here.send(agent, "Hello?")[0] == 200
    here.aws.wait_for_all()
    assert begun(here) == later
    assert here.run(later[0])["status"] == "completed"


def test_an_approval_waits_without_an_execution_and_the_sweep_denies_it_at_its_deadline(here: Deployment) -> None:
    agent = here.agent(tool_rules=[{"type": "requires_approval", "tool_name": "knock"}])
    _, reply = here.send(agent, ASK, approval_deadline=600)
    assert reply["stop_reason"]["stop_reason"] == "requires_approval"
    assert begun(here) == []
    here.say = lambda _request: says("Nobody minds.")
    here.go_on_later(minutes=11)
    assert [message["content"] for message in here.messages(agent) if message["message_type"] == "assistant_message"]
    assert here.knocks == []
    here.check(agent)


def test_a_step_that_fails_is_retried_by_the_state_machine(here: Deployment) -> None:
    agent, failed = here.agent(), list[str]()

    def at(place: str) -> None:
        if place == "before model" and not failed:
            failed.append(str(current_function()))
            raise OSError("the network is away")

    here.at = at
    status, reply = here.send(agent, ASK)
    assert (failed, status, reply["stop_reason"]["stop_reason"]) == (["stream"], 200, "end_turn")
    assert begun(here) == [run_of(here, agent)["id"]]
    here.check(agent)


@pytest.mark.parametrize("where", ["after model", "before tool"])
def test_the_run_of_a_function_that_died_is_taken_up_within_two_and_a_half_minutes(here: Deployment, where: str) -> None:
    agent, died = here.agent(), list[str]()

    def at(place: str) -> None:
        if place == where and not died:
            died.append(str(current_function()))
            abandon()

    here.at = at
    status, _ = here.send(agent, ASK)
    assert (status, died) == (502, ["stream"])
    here.go_on_later(minutes=0)
    assert begun(here) == [], "its lease may still be held"
    here.clock.ahead += BOUND
    here.go_on_later(minutes=0)
    run = run_of(here, agent)
    assert (begun(here), run["status"]) == ([f"{run['id']}.1"], "completed")
    assert len(here.knocks) <= 1
    here.drive_for_callers()
    here.check(agent)


def test_a_deployment_with_short_responses_leaves_all_runs_to_the_state_machine(here: Deployment) -> None:
    here.drive_for_callers(longest_follow=60.0)
    agent = here.agent()
    assert here.send(agent, ASK)[0] == 200
    assert begun(here) == [run_of(here, agent)["id"]]


def test_all_steps_of_a_background_run_are_committed_in_one_invocation(here: Deployment) -> None:
    here.say = lambda _request: says("Done.") if len(here.knocks) == 3 else calls(("knock", {"door": str(len(here.knocks))}))
    agent = here.agent()
    run_id = here.begin(agent, ASK)
    here.aws.wait_for_all()
    assert (here.run(run_id)["status"], here.knocks) == ("completed", ["0", "1", "2"])
    assert states_of(here, run_id) == ["Advance", "Next?", "Done"]


def states_of(here: Deployment, run_id: str) -> list[str]:
    """The states of the run's execution in their order."""
    from hibernaut.local.aws_offline.resources import client

    execution = f"{here.aws.state_machine.replace(':stateMachine:', ':execution:')}:{run_id}"
    history = client("stepfunctions").get_execution_history(executionArn=execution)["events"]
    return [event["stateEnteredEventDetails"]["name"] for event in history if "stateEnteredEventDetails" in event]
