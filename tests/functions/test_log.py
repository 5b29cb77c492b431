"""Every line of a function has the ids of its invocation, and the metrics of its event."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from functions.log import correlated, log
from functions.metrics import METRICS, embedded
from functions.stream.handler import Correlation

CONTEXT = SimpleNamespace(aws_request_id="req-1")


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Logs an event of a service, and returns its line."""
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1")

    def made(message: str, **fields: object) -> Any:
        record = logging.getLogger("hibernaut.services.x").makeRecord(
            "hibernaut", logging.INFO, "f.py", 1, message, (), None, extra=fields
        )
        return json.loads(log().registered_formatter.format(record))

    return made


def test_lines_of_services_have_the_ids_of_the_invocation_and_of_the_trace(line: Any) -> None:
    @correlated
    def handler(_event: Any, _context: Any) -> Any:
        return line("anything")

    found = handler({"run_id": "run-1"}, CONTEXT)
    assert (found["request_id"], found["run_id"], found["xray_trace_id"]) == (
        "req-1",
        "run-1",
        "1-5759e988-bd862e3fe1be46a994272793",
    )
    assert handler({"requestContext": {"requestId": "gw-1"}}, CONTEXT)["gateway_request_id"] == "gw-1"


def test_ids_do_not_outlive_their_invocation_even_if_it_fails(line: Any) -> None:
    @correlated
    def handler(_event: Any, _context: Any) -> Any:
        raise LookupError

    with pytest.raises(LookupError):
        handler({"run_id": "run-1"}, CONTEXT)
    assert not {"run_id", "request_id"} & set(line("anything"))


def test_a_streamed_request_has_the_ids_of_its_headers(line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("_X_AMZN_TRACE_ID")
    found: list[Any] = []

    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        found.append(line("anything"))

    headers = [
        (b"x-amzn-trace-id", b"Root=1-2-3;Parent=4"),
        (b"x-amzn-lambda-context", b'{"request_id": "req-2"}'),
        (b"x-amzn-request-context", b"not json"),
    ]
    coroutine = Correlation(app)({"type": "http", "headers": headers}, None, None)  # type: ignore[arg-type]
    with pytest.raises(StopIteration):
        coroutine.send(None)
    log().thread_safe_clear_keys()
    assert (found[0]["xray_trace_id"], found[0]["request_id"], "gateway_request_id" in found[0]) == ("1-2-3", "req-2", False)


def test_an_event_without_metrics_stays_as_it_is() -> None:
    assert embedded({"message": "anything", "code": "x"}, "dev", 1) == {"message": "anything", "code": "x"}


def test_a_metric_without_its_field_is_left_out() -> None:
    made = embedded({"message": "sweep ended", "started": 2}, "dev", 1)
    names = [metric["Name"] for directive in made["_aws"]["CloudWatchMetrics"] for metric in directive["Metrics"]]
    assert (names, made["RunsTakenUp"]) == (["RunsTakenUp"], 2)


def test_no_metric_has_a_dimension_that_grows_with_use() -> None:
    assert {one.by for metrics in METRICS.values() for one in metrics} <= {
        "",
        "stop_reason",
        "code",
        "tool_status",
        "error",
        "crossing",
        "action",
        "outcome",
        "reason",
    }
