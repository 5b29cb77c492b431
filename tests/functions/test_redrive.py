"""`hibernaut redrive` over the offline stack: every kind of dead letter, as the services write it, is worked up by the real
function.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from hibernaut.local.administration import deployment
from hibernaut.local.administration.dead_letters import DeadLetter, remedy_of
from hibernaut.local.administration.redriving import Redrive, Redriving, restart_runs
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.command import main
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.base import JsonObject
from hibernaut.services.turns.turn_engine import TurnEngine
from tests.support.stack_account import asked_of_aws, deployed, permitted
from tests.workflows.deployment import Deployment

DIES = "Runtime.ExitError"
ALL = Redrive()


@pytest.fixture
def here() -> Iterator[Deployment]:
    with OfflineAws(time_scale=0.001) as aws:
        yield Deployment(aws)


def waiting(here: Deployment) -> int:
    asked = {"QueueUrl": here.aws.stack.outputs["DeadLettersUrl"], "AttributeNames": ["ApproximateNumberOfMessages"]}
    return int(client("sqs").get_queue_attributes(**asked)["Attributes"]["ApproximateNumberOfMessages"])


def redriven(here: Deployment, asked: Redrive = ALL) -> tuple[int, list[str]]:
    said: list[str] = []
    place = deployed(here.aws, **{"lambda": client("lambda")})
    return Redriving(place, said.append, wait=0).redrive(asked).failed.total(), said


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> JsonObject:
    """The JSON of the command, whose lines for people go to the standard error."""
    assert main(["redrive", "--env", "dev", "--json", *arguments]) == 0
    found = capsys.readouterr()
    assert found.err
    told: JsonObject = json.loads(found.out)
    return told


def letters(here: Deployment) -> None:
    """Two sweeps, the end of an execution, the reading of a file, a position of the stream, a repetition, and something
    strange.
    """
    lambdas = here.aws.lambdas
    lambdas.refuse("sweep_runs", DIES, 2)
    here.aws.fire_schedule()
    here.aws.fire_schedule()
    agent = here.agent()
    _, folder = here.ask("POST", "/v1/folders/", {"name": "plans"})
    lambdas.refuse("ingest_file", DIES, 1)
    _, ticket = here.ask(
        "POST", f"/v1/folders/{folder['id']}/upload-url", {"file_name": "a.txt", "file_size": 5, "content_type": "text/plain"}
    )
    key = f"uploads/default/{ticket['file']['id']}"
    client("s3").put_object(Bucket=here.aws.stack.outputs["BucketName"], Key=key, Body=b"hello")
    here.aws.rules.wait()
    here.send(agent, "The harbour opens at nine.")
    lambdas.refuse("index_memory", DIES, 12)
    for _ in range(5):
        here.aws.pump()
    lambdas._refusals["index_memory"].clear()
    here.clock.ahead += timedelta(minutes=6)
    lambdas.refuse("index_memory", DIES, 1)
    here.aws.fire_schedule("index_memory")
    queue = here.aws.stack.outputs["DeadLettersUrl"]
    client("sqs").send_message(QueueUrl=queue, MessageBody="what is this")


def test_each_kind_is_worked_up_by_its_function_and_what_is_unknown_stays(here: Deployment) -> None:
    letters(here)
    total = waiting(here)
    with asked_of_aws() as asked:
        failed, said = redriven(here, Redrive(dry=True))
    assert (failed, waiting(here)) == (0, total)
    assert "2 sweeps (--kind sweep)" in said
    assert "1 events that no command knows: they stay" in said
    assert said[-1] == f"{total} letters; nothing was changed."

    here.aws.lambdas.refuse("ingest_file", DIES, 1)
    failed, said = redriven(here)
    assert (failed, waiting(here)) == (1, 2)
    assert "1 readings of files stay: ingest_file failed: Runtime.ExitError; its log says why" in said
    assert "2 sweeps worked up by sweep_runs" in said

    with asked_of_aws() as more:
        failed, said = redriven(here)
    assert (failed, waiting(here)) == (0, 1)
    assert said[-1] == "1 letters worked up, 0 failed, 1 left alone."
    assert redriven(here)[1] == ["1 events that no command knows left alone", "0 letters worked up, 0 failed, 1 left alone."]
    assert asked | more | {"cloudformation:DescribeStacks", "cloudformation:ListStackResources"} == permitted("hibernaut redrive")


def test_one_kind_a_limit_and_an_interrupt_leave_the_others_in_the_queue(
    here: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here.aws.lambdas.refuse("sweep_runs", DIES, 4)
    for _ in range(4):
        here.aws.fire_schedule()
    monkeypatch.setattr(deployment, "DeployedResources", lambda _env: deployed(here.aws, **{"lambda": client("lambda")}))
    assert printed(capsys, "--dry-run", "--limit", "1") == {"worked_up": {}, "failed": {}, "left": {"sweep": 1}}
    assert printed(capsys, "--limit", "1") == {"worked_up": {"sweep": 1}, "failed": {}, "left": {}}
    assert printed(capsys, "--runs") == {"restarted": 0, "closed": 0}
    assert redriven(here, Redrive(kinds=("ingest",)))[1][-1] == "0 letters worked up, 0 failed, 3 left alone."
    assert redriven(here, Redrive(limit=2))[1][-1] == "2 letters worked up, 0 failed, 0 left alone."
    assert waiting(here) == 1

    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Redriving, "_invoke", interrupted)
        with pytest.raises(KeyboardInterrupt):
            redriven(here)
    assert waiting(here) == 1
    assert redriven(here)[0] == waiting(here) == 0


def test_the_end_of_an_execution_is_reported_again_and_runs_that_wait_are_restarted_at_once(
    here: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = here.agent()
    advance, broken = TurnEngine.advance, True

    def denied(engine: TurnEngine, run_id: str, **more: Any) -> Any:
        if broken:
            raise TableError("AccessDeniedException")
        return advance(engine, run_id, **more)

    monkeypatch.setattr(TurnEngine, "advance", denied)
    here.aws.lambdas.refuse("sweep_runs", DIES, 1)
    run = here.begin(agent, "Is anybody there?")
    here.aws.wait_for_all()
    assert waiting(here) == 1
    assert redriven(here)[0] == waiting(here) == 0  # which restarts the run: it fails again, and at last waits for the sweep
    here.aws.wait_for_all()
    assert here.run(run)["status"] == "running"
    broken = False
    assert here.aws.fire_schedule().payload == {"started": 0, "closed": 0}
    said: list[str] = []
    restart_runs(deployed(here.aws, **{"lambda": client("lambda")}), said.append)
    assert said == ["1 runs restarted, 0 closed."]
    here.aws.wait_for_all()
    assert here.run(run)["status"] == "completed"
    restart_runs(deployed(here.aws, **{"lambda": client("lambda")}), said.append)
    assert said[-1] == "0 runs restarted, 0 closed."


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"schedule": "arn", "at": "2026-01-01T00:00:00Z"}, "sweep"),
        ({"retake": "all", "schedule": "arn", "at": "2026-01-01T00:00:00Z"}, "retake"),
        ({"tenant": "default", "file_id": "file-1"}, "ingest"),
        ({"source": "aws.s3", "detail": {"object": {"key": "uploads/default/file-1"}}}, "ingest"),
        ({"source": "aws.states", "detail": {"input": "{}", "name": "run-1", "status": "FAILED"}}, "run"),
        ({"version": "1.0", "requestContext": {}, "DDBStreamBatchInfo": {"shardId": "s"}}, "stream"),
        ({"requestContext": {"functionArn": "arn:…:x-DeliverEventsFunction1"}, "DDBStreamBatchInfo": {}}, "event"),
        ({"places": [["pk", "sk"]]}, "event"),
        ({"schedules": [["pk", "sk"]]}, "schedule"),
        ({"tenant": "acme", "schedule_id": "schedule-1", "at": "2026-11-23T08:00:00Z"}, "schedule"),
        ({"source": "aws.s3", "detail": {}}, "unknown"),
        ([], "unknown"),
        (None, "unknown"),
    ],
)
def test_a_letter_is_known_by_the_form_in_which_its_service_gave_it_up(body: object, kind: str) -> None:
    assert remedy_of(DeadLetter("1", "h", json.dumps(body))).kind == kind


def test_what_is_not_json_is_unknown() -> None:
    assert remedy_of(DeadLetter("1", "h", "{")).kind == "unknown"
