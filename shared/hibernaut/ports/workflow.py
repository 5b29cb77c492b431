"""What drives a run's chain of steps from outside: Step Functions on AWS, threads at home. Neither decides anything."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from hibernaut.ports.table import ConditionFailed, TableError, TooLarge
from hibernaut.schemas.errors import Conflict, StoreUnavailable

Next = Literal["advance", "compact", "approval", "finished", "waiting", "busy"]
"""What `services.turns.advance` answers: go on; compact the window; wait for an approval; the run has ended; it waits in the queue;
another attempt holds the step."""


class RunRef(NamedTuple):
    """Which run. Workflows carry references, never messages."""

    tenant: str
    run_id: str


def is_passing(error: Exception) -> bool:
    """Whether what ended a step is the platform's fault, which time or an operator cures: the table or the blobs are out of reach, refuse,
    or are too busy. Such a run stays open for the sweep; what is the step's own fault closes it."""
    if isinstance(error, ConditionFailed | TooLarge):
        return False
    return isinstance(error, TableError | StoreUnavailable | Conflict | OSError)


class Workflow(Protocol):
    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        """Start the run's execution; starting one that was started is fine. `name` (default: the run id) is the execution's name.

        `inline`: the caller has nothing else to do until the run ends, so an engine in this process may use the caller's thread.
        """

    def stop(self, run: RunRef) -> None:
        """Stop its execution, as a courtesy: the run has ended already."""

    def end_wait(self, run: RunRef, token: str) -> None:
        """End the wait for the approval that the run asked for; `token` is what the engine named it by. A wait that is over is no error."""
