"""Waking those who follow a run. A lost signal costs time, never an event: followers read the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class RunSignal(Protocol):
    def notify(self, run_id: str) -> None:
        """Something new stands in the run's event log."""

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` (from any thread) at each notice, until the returned function is called."""

    def patience(self, looks: int) -> float:
        """Seconds after which a follower looks again without being woken; `looks` counts its fruitless looks since the last event."""
