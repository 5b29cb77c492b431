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

FORGED = {"x-amzn-request-context": '{"requestId": "forged"}', "x-amzn-lambda-context": '{"request_id": "forged"}'}


@contextmanager
def listening() -> Iterator[list[dict[str, Any]]]:
    """The lines of the functions' log, as JSON, once the context has ended."""
    lines: list[dict[str, Any]] = []
    (handler,) = [one for one in log()._logger.handlers if hasattr(one, "setStream")]
    text = io.StringIO()
    before = handler.setStream(text)  # type: ignore[attr-defined]
    try:
        yield lines
    finally:
        handler.setStream(before)  # type: ignore[attr-defined]
        lines.extend(json.loads(line) for line in text.getvalue().splitlines())


@pytest.mark.parametrize("way", ["messages", "messages/async"])
def test_a_request_is_followed_to_its_execution_and_its_steps(aws: OfflineAws, way: str) -> None:
    agent = httpx.post(f"{aws.url}/v1/agents/", json={"model": "hibernaut/demo"}, timeout=60).json()["id"]
    with listening() as lines:
        answer = httpx.post(f"{aws.url}/v1/agents/{agent}/{way}", json={"input": "Hello."}, headers=FORGED, timeout=60)
        assert answer.status_code == 200
        statuses = aws.wait_for_all()
    (accepted,) = [line for line in lines if line["message"] == "run accepted"]
    run = accepted["run_id"]
    assert run in statuses
    (request,) = [line for line in lines if line["message"] == "request"]
    assert request["gateway_request_id"] == accepted["gateway_request_id"] != "forged"
    assert request["request_id"] == accepted["request_id"] != "forged"
    assert {line["message"] for line in lines if line.get("run_id") == run} >= {
        "run accepted",
        "step committed",
        "turn advanced",
        "run ended",
    }
    assert all("request_id" in line for line in lines)
