"""Subsegments as the daemon of X-Ray gets them: one datagram each, with the rules of segment documents."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.adapters.tracing.spans import SpanTracer
from hibernaut.adapters.tracing.xray import XRayExporter
from hibernaut.ports.tracing import ActiveSpan, EndedSpan, SpanContext
from tests.support.clocks import ManualClock

ROOT, PARENT = "1-5759e988-bd862e3fe1be46a994272793", "53995c3f42cd8ad8"
SAMPLED = f"Root={ROOT};Parent={PARENT};Sampled=1"
KEYS = {"name", "id", "trace_id", "parent_id", "type", "start_time", "end_time", "namespace", "fault", "annotations"}


class Daemon:
    """A daemon on loopback. It refuses what X-Ray's documentation forbids (developer guide, "AWS X-Ray segment documents")."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        host, port = self._socket.getsockname()
        self.address = f"{host}:{port}"

    def got(self, number: int) -> list[dict[str, Any]]:
        """So many documents, and no more."""
        found = [self._document(self._socket.recv(65_536)) for _ in range(number)]
        with pytest.raises(TimeoutError):
            self._socket.recv(65_536)
        return found

    def _document(self, datagram: bytes) -> dict[str, Any]:
        header, _, body = datagram.partition(b"\n")
        assert json.loads(header) == {"format": "json", "version": 1}
        found: dict[str, Any] = json.loads(body)
        assert set(found) <= KEYS
        assert found["type"] == "subsegment"
        assert re.fullmatch(r"[\w\s.:/%&#=+\-@]{1,200}", found["name"])
        assert re.fullmatch("[0-9a-f]{16}", found["id"])
        assert re.fullmatch("[0-9a-f]{16}", found["parent_id"])
        assert found["start_time"] <= found["end_time"]
        assert all(re.fullmatch("[A-Za-z0-9_]+", name) for name in found["annotations"])
        return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    made = Daemon()
    yield made
    made.close()


def test_calls_are_children_of_their_step_and_the_step_of_the_invocation(daemon: Daemon) -> None:
    tracer = SpanTracer([XRayExporter(lambda: SAMPLED, daemon.address)], ManualClock())
    with (
        tracer.span(ActiveSpan("step"), SpanContext("a" * 32, "b" * 16)),
        tracer.span(ActiveSpan("chat gpt-5.4 (x)", "client", {"gen_ai.x": 1})),
    ):
        pass
    tracer.close()
    chat, step = daemon.got(2)
    assert (step["parent_id"], chat["parent_id"]) == (PARENT, step["id"])
    assert {step["trace_id"], chat["trace_id"]} == {ROOT}
    assert (chat["name"], chat["namespace"], chat["annotations"]) == ("chat gpt-5.4 _x_", "remote", {"gen_ai_x": 1})
    assert "namespace" not in step


def test_a_failure_is_a_fault(daemon: Daemon) -> None:
    tracer = SpanTracer([XRayExporter(lambda: SAMPLED, daemon.address)], ManualClock())
    with pytest.raises(ZeroDivisionError), tracer.span(ActiveSpan("step")):
        raise ZeroDivisionError
    tracer.close()
    (step,) = daemon.got(1)
    assert step["fault"] is True


@pytest.mark.parametrize("header", ["", SAMPLED.replace("Sampled=1", "Sampled=0"), f"Root={ROOT}", "Root=x;Parent=y;Sampled=1"])
def test_what_is_not_sampled_is_not_sent(daemon: Daemon, header: str) -> None:
    tracer = SpanTracer([XRayExporter(lambda: header, daemon.address)], ManualClock())
    with tracer.span(ActiveSpan("step")):
        pass
    tracer.close()
    daemon.got(0)


def test_a_run_of_many_invocations_is_no_subsegment(daemon: Daemon) -> None:
    exporter = XRayExporter(lambda: SAMPLED, daemon.address)
    exporter.take(EndedSpan(ActiveSpan("invoke_agent", "server"), SpanContext("a" * 32, "b" * 16), "", 1, 2))
    exporter.close()
    daemon.got(0)


def test_a_daemon_that_is_away_fails_nothing() -> None:
    tracer = SpanTracer([XRayExporter(lambda: SAMPLED, "127.0.0.1:9")], ManualClock())
    for _ in range(3):
        with tracer.span(ActiveSpan("step")):
            pass
    tracer.close()
