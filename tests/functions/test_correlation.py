"""From a request to its run, and from the run to its steps: the ids on the lines of a whole turn."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from functions.log import log
from hibernaut.local.aws_offline.offline import OfflineAws
from tests.support.waiting import eventually

FORGED = {"x-amzn-request-context": '{"requestId": "forged"}', "x-amzn-lambda-context": '{"request_id": "forged"}'}


@contextmanager
def listening() -> Iterator[list[dict[str, Any]]]:
    """The lines of the functions' log, as JSON, once the context has ended and a request's own line, which follows its answer, is
    there.
    """
    lines: list[dict[str, Any]] = []
    (handler,) = [one for one in log()._logger.handlers if hasattr(one, "setStream")]
    text = io.StringIO()
    before = handler.setStream(text)  # type: ignore[attr-defined]
    try:
        yield lines
        eventually(lambda: '"message":"request"' in text.getvalue())
    finally:
        handler.setStream(before)  # type: ignore[attr-defined]
        lines.extend(json.loads(line) for line in text.getvalue().splitlines())


WAITING = {"run accepted", "step committed", "run ended"}


@pytest.mark.parametrize(("way", "waits"), [("messages", True), ("messages/async", False)])
def test_a_request_is_followed_to_its_steps_and_to_the_execution_of_a_background_run(
    aws: OfflineAws, way: str, *, waits: bool
) -> None:
    agent = httpx.post(f"{aws.url}/v1/agents/", json={"model": "hibernaut/demo"}, timeout=60).json()["id"]
    with listening() as lines:
        answer = httpx.post(f"{aws.url}/v1/agents/{agent}/{way}", json={"input": "Hello."}, headers=FORGED, timeout=60)
        assert answer.status_code == 200
        statuses = aws.wait_for_all()
    (accepted,) = [line for line in lines if line["message"] == "run accepted"]
    run = accepted["run_id"]
    assert (run in statuses) is not waits
    (request,) = [line for line in lines if line["message"] == "request"]
    assert request["gateway_request_id"] == accepted["gateway_request_id"] != "forged"
    assert request["request_id"] == accepted["request_id"] != "forged"
    of_run = [line for line in lines if line.get("run_id") == run]
    assert {line["message"] for line in of_run} >= (WAITING if waits else {*WAITING, "turn advanced"})
    steps = {line["request_id"] for line in of_run if line["message"] != "run accepted"}
    assert (steps == {request["request_id"]}) is waits, "the steps of a waiting caller are lines of its own request"
    assert all("request_id" in line for line in lines)
