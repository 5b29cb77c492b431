"""A clock that moves only when a test moves it, and the system clock, which a test puts forward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hibernaut.adapters.clock import SystemClock


class ManualClock:
    """The port `Clock`. `sleep` advances it at once; nothing waits."""

    def __init__(self, start: datetime = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)) -> None:
        self.time = start
        self.passed = 0.0

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        self.time += timedelta(seconds=seconds)


class LaterClock(SystemClock):
    """The system clock, put forward by `ahead`, which a test may change."""

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        return super().now() + self.ahead
