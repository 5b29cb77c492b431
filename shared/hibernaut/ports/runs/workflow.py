"""The workflow engine that drives the steps of a run: Step Functions on AWS, threads locally. The engine makes no decisions."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from hibernaut.ports.storage.table import ConditionFailed, TableError, TooLarge
from hibernaut.schemas.errors import Conflict, Unavailable

Next = Literal["advance", "compact", "approval", "finished", "waiting", "busy"]
"""The result of `services.turns.advance`: continue; compact the window; wait for an approval; the run has ended; the run waits in
the queue or for replies of other agents, and whoever ends that wait starts it; another attempt holds the step's lease.
"""


CONTRACT = 1
"""The version of what the state machine and the functions tell each other: inputs, events, replies and the names of errors.

Executions under way keep their definition and call newer functions; during a gradual release a new definition calls older
functions. So a function accepts this version and the one before, and answers a version above `NEWEST_CONTRACT` with an error of
the platform, after which the run stays open. Version 0 had no number. `tests/releases` refuses a change of the contract without a
new version.
"""
NEWEST_CONTRACT = 1
"""The newest version that functions accept. It is raised one release before `CONTRACT`, because both releases answer the same
executions.
"""
STEPS_PER_INVOCATION = 50
"""Steps that a function commits at most before it returns to the engine. It returns earlier when its time is short."""


class RunRef(NamedTuple):
    """A reference to one run. Workflows carry references, never messages."""

    tenant: str
    run_id: str


def is_passing(error: Exception) -> bool:
    """Whether the error that ended a step is a failure of the platform that time or an operator cures: the table, the blob
    store, the store of keys or the master key is unreachable, refuses, or is throttled. Such a run stays open for the sweep. Any
    other error closes the run.
    """
    if isinstance(error, ConditionFailed | TooLarge):
        return False
    return isinstance(error, TableError | Unavailable | Conflict | OSError)


class Workflow(Protocol):
    """Starts, stops and resumes the executions of runs."""

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        """Start the execution of the run; starting it twice is no error. `name` is the name of the execution (default: the run
        id).

        `inline`: the caller only waits for the run, so an engine in this process may use the caller's thread.
        """

    def stop(self, run: RunRef) -> None:
        """Stop the execution, to save resources: the run itself has already ended."""

    def end_wait(self, run: RunRef, token: str) -> None:
        """End the run's wait for an approval; `token` is the engine's name for that wait. A wait that has already ended is no
        error.
        """
