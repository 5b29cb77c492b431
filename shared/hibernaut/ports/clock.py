"""Time and ids, as ports: nothing else in the house looks at a clock or at chance."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The time in UTC, with microseconds."""

    def monotonic(self) -> float:
        """Seconds that never run backwards, for spans and deadlines within one process."""

    def sleep(self, seconds: float) -> None:
        """Wait (between tries of a model or table call)."""


class Ids(Protocol):
    def new(self, prefix: str, after: str | None = None) -> str:
        """A fresh id, greater than every one made here before and than `after` (same prefix) where given."""

    def token(self) -> str:
        """A random writer's token: marks a write as one's own."""
