"""Counts what an invocation of a function uses of AWS. The engines of the profile `aws` report their requests to it.

Knows: units, and the memory of the function. Must not know: runs, or prices.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from hibernaut.ports.clock import Clock
from hibernaut.ports.meter import Meter
from hibernaut.schemas.aws_use import AwsUse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class _InvocationUse:
    """What one invocation has used and what was charged. Thread-safe."""

    def __init__(self, use: AwsUse, clock: Clock) -> None:
        self.clock = clock
        self._began = clock.monotonic()
        self.in_execution = use.transitions > 0
        self._lock = threading.Lock()
        self._use = use

    def add(self, use: AwsUse) -> None:
        with self._lock:
            self._use = self._use.plus(use)

    def charge(self, use: AwsUse) -> None:
        with self._lock:
            self._use = self._use.minus(use)

    def used(self, memory: float) -> AwsUse:
        return self._use.plus(AwsUse(gigabyte_seconds=(self.clock.monotonic() - self._began) * memory))


_current: ContextVar[_InvocationUse | None] = ContextVar("metered_invocation", default=None)


def count_use(**figures: float) -> None:
    """Add figures of `AwsUse` to the current invocation. Outside of any invocation this does nothing."""
    invocation = _current.get()
    if invocation is not None:
        invocation.add(AwsUse.model_validate(figures))


@contextmanager
def function_called(memory: float) -> Iterator[None]:
    """Count the block as the invocation of another function with this much memory in GB."""
    invocation = _current.get()
    began = invocation.clock.monotonic() if invocation else 0.0
    try:
        yield
    finally:
        if invocation is not None:
            seconds = invocation.clock.monotonic() - began
            invocation.add(AwsUse(invocations=1, gigabyte_seconds=seconds * memory))


class AwsMeter:
    """The `Meter` of a function with this much memory in GB."""

    def __init__(self, clock: Clock, memory: float) -> None:
        self._clock = clock
        self._memory = memory

    @contextmanager
    def invocation(self, *, of_gateway: bool = False, transitions: int = 0) -> Iterator[None]:
        """As `Meter.invocation`."""
        first = AwsUse(invocations=1, gateway_requests=int(of_gateway), transitions=transitions)
        mark = _current.set(_InvocationUse(first, self._clock))
        try:
            yield
        finally:
            _current.reset(mark)

    def used(self) -> AwsUse | None:
        """As `Meter.used`; None outside of an invocation."""
        invocation = _current.get()
        return invocation.used(self._memory) if invocation else None

    def charge(self, use: AwsUse) -> None:
        """As `Meter.charge`."""
        invocation = _current.get()
        if invocation is not None:
            invocation.charge(use)

    @property
    def in_execution(self) -> bool:
        """As `Meter.in_execution`."""
        invocation = _current.get()
        return invocation is not None and invocation.in_execution


class MeteredRequests:
    """An ASGI app that meters each request as an invocation of a function behind the gateway."""

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app = app
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        with self._meter.invocation(of_gateway=True):
            return await self._app(scope, receive, send)
