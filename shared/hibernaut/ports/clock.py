"""Time and ids as ports. No other module reads a clock or draws a random number."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The source of time."""

    def now(self) -> datetime:
        """The current time in UTC, with microseconds."""

    def monotonic(self) -> float:
        """Seconds of a clock that never runs backwards, for durations and deadlines within one process."""

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for this many seconds (the backoff between attempts of a model or table call)."""


class Ids(Protocol):
    """The source of ids and tokens."""

    def new(self, prefix: str, after: str | None = None) -> str:
        """A new id with this prefix. It is greater than every earlier id of this object for the prefix, and greater than `after`
        if that is set.
        """

    def token(self) -> str:
        """A random token that marks a write as the writer's own."""
