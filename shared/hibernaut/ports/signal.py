"""Waking those who follow a run. A lost signal costs time, never an event: followers read the table."""

from __future__ import annotations

from typing import Protocol


class RunSignal(Protocol):
    def notify(self, run_id: str) -> None:
        """Something new stands in the run's event log."""

    def wait(self, run_id: str, seconds: float) -> None:
        """Return when the run was notified since the last look, or after `seconds` at the latest."""
