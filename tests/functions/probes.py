"""Handlers and use cases that do as a test says, to see how Lambda and the gateway treat what handlers do."""

from __future__ import annotations

import threading
from typing import Any

from hibernaut.local.aws_offline.lambdas import Function, abandon


class Probe:
    """What the handlers below are to do, and what they saw."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.go_on = threading.Event()
        self.after = 0


def answers(event: Any, context: Any, probe: Probe) -> Any:
    probe.events.append(event)
    return {"seen": event, "name": context.function_name, "left": context.get_remaining_time_in_millis()}


def raises(event: Any, context: Any, probe: Probe) -> Any:
    raise LookupError("no such thing")


def hangs(event: Any, context: Any, probe: Probe) -> Any:
    probe.go_on.wait(10)
    probe.after += 1
    return "late"


def dies(event: Any, context: Any, probe: Probe) -> Any:
    try:
        abandon()
    finally:
        probe.after += 1


def answers_too_much(event: Any, context: Any, probe: Probe) -> Any:
    return "x" * 7_000_000


def function(name: str, timeout: float = 5.0) -> Function:
    """A deployed function whose handler is one of the above."""
    return Function(
        name, f"arn:aws:lambda:us-east-1:123456789012:function:{name}", f"tests.functions.probes.{name}", timeout, 256
    )
