"""How executions are started where Step Functions refuses or does not answer: a name makes a second request harmless."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.ports.runs.workflow import RunRef
from tests.support.spoken_aws import Says, SpokenAws, error, spoken_aws

RUN = RunRef("default", "run-00000000-0000-4000-8000-000000000001")
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:heartbeat"
STARTED = Says({"executionArn": f"{MACHINE.replace('stateMachine', 'execution')}:{RUN.run_id}", "startDate": 0})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpokenAws]:
    with spoken_aws() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SFN", server.endpoint)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield server


@pytest.mark.parametrize(
    "refusal", [error("ThrottlingException"), error("ServiceUnavailable", status=503)], ids=["throttled", "unavailable"]
)
def test_a_refused_start_is_sent_again_under_the_same_name(
    refusal: Says, aws: SpokenAws, caplog: pytest.LogCaptureFixture
) -> None:
    aws.answers, aws.asked = [refusal, STARTED], []
    with caplog.at_level(logging.WARNING):
        StepFunctions(MACHINE).start(RUN)
    assert [body["name"] for _, body in aws.asked] == [RUN.run_id] * 2
    assert caplog.records == []


def test_a_start_that_is_refused_again_and_again_is_left_to_the_sweep(aws: SpokenAws, caplog: pytest.LogCaptureFixture) -> None:
    aws.answers, aws.asked = [error("ThrottlingException")], []
    with caplog.at_level(logging.WARNING):
        StepFunctions(MACHINE).start(RUN)
    assert [record.getMessage() for record in caplog.records] == ["execution not started"]
    assert len(aws.asked) == 3
