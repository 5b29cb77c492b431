"""The adapter of Step Functions where releases shift the traffic: it starts an alias, and stops executions of the machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.ports.runs.workflow import CONTRACT, RunRef

MACHINE = "arn:aws:states:eu-central-1:123456789012:stateMachine:hibernaut-dev-heartbeat"
RUN = RunRef("default", "run-1")


class NotedClient:
    """Notes the calls. An ARN of an execution has no alias (Step Functions developer guide, "Associating executions with a
    version").
    """

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.stopped: list[str] = []

    def start_execution(self, **asked: Any) -> None:
        self.started.append(asked)

    def stop_execution(self, **asked: Any) -> None:
        assert asked["executionArn"].count(":") == 7
        self.stopped.append(asked["executionArn"])


@pytest.mark.parametrize("arn", [MACHINE, f"{MACHINE}:live"])
def test_executions_are_started_by_the_alias_and_stopped_by_the_machine(arn: str) -> None:
    client = NotedClient()
    workflow = StepFunctions(arn, client=client)  # type: ignore[arg-type]
    workflow.start(RUN)
    workflow.stop(RUN)
    (started,) = client.started
    assert (started["stateMachineArn"], json.loads(started["input"])["v"]) == (arn, CONTRACT)
    assert client.stopped == ["arn:aws:states:eu-central-1:123456789012:execution:hibernaut-dev-heartbeat:run-1"]
