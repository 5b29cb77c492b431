"""What the functions are called with and answer, and the errors that the state machine knows by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypedDict

from functions.log import log
from hibernaut.ports.workflow import Next, is_passing
from hibernaut.schemas.base import Schema
from hibernaut.schemas.errors import place_of
from hibernaut.services.steps.step_lease import AdvanceResult


class Heartbeat(Schema):
    """What the state machine passes: which run; to `close_run` the name of the error that ended its steps; to `request_approval` the
    name of the wait; to `advance_turn` whether old turns are to be dropped, the approval denied whose deadline has passed, or the
    step gone on with that a dead worker holds: one of the step's, or one that made a summary."""

    tenant: str
    run_id: str
    error: str | None = None
    token: str | None = None
    drop: bool = False
    deny: bool = False
    died: bool = False
    summary_died: bool = False


class Receipt(TypedDict):
    """The state machine's next state: ids and counters only. `seconds`: how long an approval is waited for. `drop` stays with a step
    that is held by another attempt, until it is made."""

    tenant: str
    run_id: str
    next: Next
    steps: int
    seconds: int
    drop: bool


LONGEST_WAIT = 360 * 24 * 3600
"""Seconds: an execution lasts a year at most. A later deadline is the sweep's."""


def receipt_of(beat: Heartbeat, advanced: AdvanceResult) -> Receipt:
    """What a function answers that went on with a run."""
    return {
        "tenant": beat.tenant,
        "run_id": beat.run_id,
        "next": advanced.next,
        "steps": advanced.steps,
        "seconds": min(max(advanced.seconds, 1), LONGEST_WAIT),
        "drop": beat.drop and advanced.next == "busy",
    }


class LambdaContext(Protocol):
    """The part of Lambda's context that is used here."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


class Retryable(Exception):
    """Nothing is wrong with the run: the same call may succeed in a moment. The state machine tries again, and leaves the run open."""


class StepFailed(Exception):
    """The fault is the step's own: the same call would end the same. The one name by which the state machine closes a run, so that
    names which nobody foresaw are taken for the platform's."""


@contextmanager
def faults_named(run_id: str) -> Iterator[None]:
    """Gives whatever is raised the name by which the state machine knows it. Raises: Retryable, StepFailed."""
    try:
        yield
    except Exception as error:
        if is_passing(error):
            raise Retryable(type(error).__name__) from error
        fields = {"run_id": run_id, "error": type(error).__qualname__, "place": place_of(error)}
        log().error("step failed", extra=fields)
        raise StepFailed(type(error).__name__) from error
