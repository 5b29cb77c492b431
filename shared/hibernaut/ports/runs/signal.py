"""Wake-up signals for the followers of a run. A lost signal delays a follower but loses no event, because followers read the
table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class RunSignal(Protocol):
    """Notifies followers about new events of a run."""

    def notify(self, run_id: str) -> None:
        """Signal that the event log of the run has a new entry."""

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake`, from any thread, at each signal for this run. The returned function ends the subscription."""

    def patience(self, looks: int) -> float:
        """Seconds after which a follower polls without a signal; `looks` counts its polls without result since the last event."""
