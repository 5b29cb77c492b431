"""Step Functions in moto: how executions start, wait, stop and end."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import boto3
import pytest
from moto import mock_aws

from hibernaut.local.aws_offline.moto import executions
from hibernaut.local.aws_offline.moto.executions import ExecutionEnded
from hibernaut.local.aws_offline.moto.fixes import executions_of, install, listen_to_ends, wait_execution, wait_rest

ROLE = "arn:aws:iam::123456789012:role/any"
PASS = {"StartAt": "Done", "States": {"Done": {"Type": "Pass", "End": True}}}


class Machines:
    """State machines, and a queue to which a task sends its token."""

    def __init__(self) -> None:
        self.states: Any = boto3.client("stepfunctions")
        self._queue: Any = boto3.client("sqs")
        self._url = self._queue.create_queue(QueueName="tokens")["QueueUrl"]

    def make(self, definition: dict[str, Any], name: str = "machine") -> str:
        made = self.states.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE)
        return str(made["stateMachineArn"])

    def start(self, definition: dict[str, Any], **given: Any) -> str:
        return str(
            self.states.start_execution(stateMachineArn=self.make(definition), **{"name": "run-1", **given})["executionArn"]
        )

    def run(self, definition: dict[str, Any], **given: Any) -> dict[str, Any]:
        arn = self.start(definition, **given)
        wait_execution(arn)
        return dict(self.states.describe_execution(executionArn=arn))

    def waiting(self) -> dict[str, Any]:
        """A machine that waits until somebody brings back the token."""
        message = {"QueueUrl": self._url, "MessageBody.$": "$$.Task.Token"}
        task = {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "Parameters": message,
            "End": True,
        }
        return {"StartAt": "Wait", "States": {"Wait": task}}

    def token(self) -> str:
        """The token of the task that waits; each look gives the machine's thread time to come so far."""
        for _ in range(500):
            if messages := self.messages():
                return messages[0]
            wait_execution(self._any_arn(), timeout=0.01)
        raise AssertionError("no task waits")

    def messages(self) -> list[str]:
        found = self._queue.receive_message(QueueUrl=self._url, WaitTimeSeconds=0).get("Messages", [])
        return [str(message["Body"]) for message in found]

    def close(self) -> None:
        self.states.close()
        self._queue.close()

    def _any_arn(self) -> str:
        machine = self.states.list_state_machines()["stateMachines"][0]["stateMachineArn"]
        return str(self.states.list_executions(stateMachineArn=machine)["executions"][0]["executionArn"])


@pytest.fixture
def machines() -> Iterator[Machines]:
    install(time_scale=0.0)
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        machines = Machines()
        yield machines
        machines.close()
    install()


@pytest.fixture
def thread_ended(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the thread of an execution has come to its end."""
    from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

    ended, run = threading.Event(), ExecutionWorker._execution_logic

    def whole_run(worker: Any) -> None:
        run(worker)
        ended.set()

    monkeypatch.setattr(ExecutionWorker, "_execution_logic", whole_run)
    return ended


def test_waiting_for_an_execution_answers_its_status(machines: Machines) -> None:
    assert wait_execution(machines.start(PASS)) == "SUCCEEDED"


def test_an_execution_that_waits_for_a_token_stops_at_once_with_its_reason(
    machines: Machines, thread_ended: threading.Event
) -> None:
    arn = machines.start(machines.waiting())
    machines.token()
    assert wait_execution(arn, timeout=0.0) == "RUNNING"
    machines.states.stop_execution(executionArn=arn, error="Stopped", cause="by hand")
    assert wait_execution(arn, timeout=0.0) == "ABORTED"
    described = machines.states.describe_execution(executionArn=arn)
    assert (described["error"], described["cause"], "stopDate" in described) == ("Stopped", "by hand", True)
    assert thread_ended.wait(30)
    assert machines.states.get_execution_history(executionArn=arn)["events"][-1]["type"] == "ExecutionAborted"


def test_an_execution_that_is_stopped_while_it_waits_rests_for_ever(machines: Machines, thread_ended: threading.Event) -> None:
    """Its waiting task wakes up after the end, and must not make it look busy: whoever waits for its rest would wait in vain."""
    arn = machines.start(machines.waiting())
    machines.token()
    machines.states.stop_execution(executionArn=arn, error="Stopped", cause="by hand")
    assert thread_ended.wait(30)
    assert executions._event(executions._execution(arn), executions._RESTS).is_set()


def test_the_names_of_a_machines_executions_need_no_request(machines: Machines) -> None:
    machine = machines.make(PASS)
    for name in ("run-1", "run-2"):
        wait_execution(machines.states.start_execution(stateMachineArn=machine, name=name)["executionArn"])
    assert sorted(executions_of(machine)) == ["run-1", "run-2"]


def test_an_execution_that_has_ended_is_not_stopped_again(machines: Machines) -> None:
    arn = machines.start(PASS)
    wait_execution(arn)
    machines.states.stop_execution(executionArn=arn)
    assert machines.states.describe_execution(executionArn=arn)["status"] == "SUCCEEDED"


def test_an_execution_that_is_stopped_as_it_starts_does_nothing(
    machines: Machines, thread_ended: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.stepfunctions.parser.backend.execution_worker import AmazonStateLanguageParser

    goes_on, parse = threading.Event(), AmazonStateLanguageParser.parse

    def slow_parse(definition: str) -> Any:
        goes_on.wait(30)
        return parse(definition)

    machine = machines.make(machines.waiting())
    monkeypatch.setattr(AmazonStateLanguageParser, "parse", slow_parse)
    arn = machines.states.start_execution(stateMachineArn=machine, name="run-1")["executionArn"]
    machines.states.stop_execution(executionArn=arn, error="Stopped")
    waiter = threading.Thread(target=wait_execution, args=(arn, 60.0))
    waiter.start()
    waiter.join(20)
    assert not waiter.is_alive(), "whoever waits for it learns of the stop while its thread is still busy"
    goes_on.set()
    assert thread_ended.wait(30)
    assert machines.messages() == []
    assert machines.states.describe_execution(executionArn=arn)["error"] == "Stopped"


def test_a_token_that_is_brought_back_ends_the_wait(machines: Machines) -> None:
    arn = machines.start(machines.waiting())
    machines.states.send_task_success(taskToken=machines.token(), output='{"yes": 1}')
    assert wait_execution(arn) == "SUCCEEDED"


def test_a_task_that_fails_tells_its_cause(machines: Machines) -> None:
    arn = machines.start(machines.waiting())
    machines.states.send_task_failure(taskToken=machines.token(), error="Refused", cause="not now")
    assert wait_execution(arn) == "FAILED"
    described = machines.states.describe_execution(executionArn=arn)
    assert (described["error"], described["cause"]) == ("Refused", "not now")


def test_a_task_without_a_heartbeat_limit_takes_heartbeats(machines: Machines) -> None:
    arn = machines.start(machines.waiting())
    token = machines.token()
    machines.states.send_task_heartbeat(taskToken=token)
    machines.states.send_task_success(taskToken=token, output="{}")
    assert wait_execution(arn) == "SUCCEEDED"


def test_of_two_starts_of_one_name_at_once_one_runs(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto.stepfunctions.models import StateMachine

    machine = machines.make(machines.waiting())
    both_have_looked, look = threading.Barrier(2), StateMachine._handle_name_input_idempotency

    def look_together(state_machine: Any, name: str, given: str) -> Any:
        found = look(state_machine, name, given)
        with suppress(threading.BrokenBarrierError):
            # Whoever may look alone waits in vain.
            both_have_looked.wait(0.3)
        return found

    monkeypatch.setattr(StateMachine, "_handle_name_input_idempotency", look_together)

    def start(_: int) -> str:
        return str(machines.states.start_execution(stateMachineArn=machine, name="run-1", input="{}")["executionArn"])

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(start, range(2)))) == 1
    assert len(machines.states.list_executions(stateMachineArn=machine)["executions"]) == 1


def test_an_execution_without_a_name_gets_one_of_its_own(machines: Machines) -> None:
    machine = machines.make(PASS)
    first, second = (machines.states.start_execution(stateMachineArn=machine)["executionArn"] for _ in range(2))
    assert first != second
    assert not first.endswith(":None")


def test_the_history_is_read_page_by_page_and_from_its_end(machines: Machines) -> None:
    arn = machines.start(PASS)
    wait_execution(arn)
    whole = [event["id"] for event in machines.states.get_execution_history(executionArn=arn)["events"]]
    paged: list[int] = []
    more: dict[str, str] = {}
    while True:
        page = machines.states.get_execution_history(executionArn=arn, maxResults=2, **more)
        assert len(page["events"]) <= 2
        paged += [event["id"] for event in page["events"]]
        if "nextToken" not in page:
            break
        more = {"nextToken": page["nextToken"]}
    assert paged == whole
    backwards = machines.states.get_execution_history(executionArn=arn, reverseOrder=True)["events"]
    assert [event["id"] for event in backwards] == whole[::-1]


def test_tasks_share_their_client(machines: Machines) -> None:
    from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils

    first = lambda_eval_utils.boto_client_for(region="eu-central-1", service="lambda")
    assert lambda_eval_utils.boto_client_for(region="eu-central-1", service="lambda") is first


def test_a_wait_and_the_intervals_of_retries_take_the_time_that_was_asked_for(machines: Machines) -> None:
    missing = {"Type": "Task", "Resource": "arn:aws:lambda:eu-central-1:123456789012:function:missing", "End": True}
    missing["Retry"] = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 3600, "MaxAttempts": 2}]  # type: ignore[assignment]
    wait = {"Type": "Wait", "Seconds": 86_400, "Next": "Call"}
    assert machines.run({"StartAt": "Rest", "States": {"Rest": wait, "Call": missing}})["status"] == "FAILED"


def test_a_timeout_that_is_read_from_the_state_takes_the_time_that_was_asked_for(machines: Machines) -> None:
    waiting = machines.waiting()
    waiting["States"]["Wait"]["TimeoutSecondsPath"] = "$.seconds"
    described = machines.run(waiting, input=json.dumps({"seconds": 604_800}))
    assert (described["status"], described["error"]) == ("FAILED", "States.Timeout")
    assert len(machines.messages()) == 1, "the limit ends the wait, and not the request before it"


def test_an_execution_rests_while_it_waits_for_a_token(machines: Machines) -> None:
    arn = machines.start(machines.waiting())
    assert wait_rest(arn) == "RUNNING"
    machines.states.send_task_success(taskToken=machines.token(), output="{}")
    assert wait_rest(arn) == "SUCCEEDED"


def test_who_listens_is_told_once_of_every_end(machines: Machines) -> None:
    told: list[ExecutionEnded] = []
    with listen_to_ends(told.append):
        machines.run(PASS, input='{"a": 1}')
        waiting = machines.make(machines.waiting(), "waiting")
        stopped = machines.states.start_execution(stateMachineArn=waiting, name="run-2")["executionArn"]
        wait_rest(stopped)
        machines.states.stop_execution(executionArn=stopped, error="Stopped", cause="by hand")
        wait_execution(stopped)
    machines.run(PASS, name="run-3")
    assert [(one.status, one.input, one.error, one.cause) for one in told] == [
        ("SUCCEEDED", '{"a": 1}', None, None),
        ("ABORTED", "{}", "Stopped", "by hand"),
    ]
    assert [one.arn.rpartition(":")[2] for one in told] == ["run-1", "run-2"]


def test_jsonata_is_evaluated_and_text_in_it_is_only_text(machines: Machines) -> None:
    keep = {"Type": "Pass", "Assign": {"said": "{% $states.input.said %}"}, "Next": "Tell"}
    tell = {"Type": "Pass", "Output": {"said": "{% $said %}", "sum": "{% $states.input.n + 1 %}"}, "End": True}
    definition = {"QueryLanguage": "JSONata", "StartAt": "Keep", "States": {"Keep": keep, "Tell": tell}}
    said = 'a "quoted" word'
    ended = machines.run(definition, input=json.dumps({"said": said, "n": 2}))
    assert json.loads(ended["output"]) == {"said": said, "sum": 3}


def test_a_json_path_machine_may_assign(machines: Machines) -> None:
    keep = {"Type": "Pass", "Assign": {"kept.$": "$.n"}, "Next": "Tell"}
    tell = {"Type": "Pass", "Parameters": {"told.$": "$kept"}, "End": True}
    ended = machines.run({"StartAt": "Keep", "States": {"Keep": keep, "Tell": tell}}, input='{"n": 5}')
    assert json.loads(ended["output"]) == {"told": 5}
