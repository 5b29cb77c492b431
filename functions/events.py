"""The events and receipts of the functions in the state machine, and the errors that the state machine handles by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypedDict

from functions.log import log
from hibernaut.ports.runs.workflow import CONTRACT, NEWEST_CONTRACT, Next, is_passing
from hibernaut.schemas.base import JsonObject, Schema
from hibernaut.schemas.errors import place_of
from hibernaut.services.steps.step_lease import AdvanceResult


class Heartbeat(Schema):
    """The event of a function in the state machine: the run, and further parameters of the function.

    `v`: the version of the contract (`hibernaut.ports.runs.workflow.CONTRACT`) of the event; 0: an event without a version.
    `error` (for `close_run`): the name of the error that ended the step. `token` (for `request_approval`): the task token of the
    wait. For `advance_turn`: `drop`: reduce the window by dropping old turns; `deny`: deny the overdue approval;
    `died`, `summary_died`: take over the step from a dead worker, which performed the step or made a summary.
    """

    v: int = 0
    tenant: str
    run_id: str
    error: str | None = None
    token: str | None = None
    drop: bool = False
    deny: bool = False
    died: bool = False
    summary_died: bool = False


def beat_of(event: JsonObject) -> Heartbeat:
    """The event, of any version that this release accepts. Raises: Retryable if it has a newer version, because a newer release
    may answer the retry; ValidationError.
    """
    beat = Heartbeat.model_validate(event)
    if beat.v > NEWEST_CONTRACT:
        log().warning("event of a newer release", extra={"version": beat.v, "accepted": NEWEST_CONTRACT})
        raise Retryable("NewerContract")
    return beat


class Receipt(TypedDict):
    """The reply of a function, which becomes the state machine's whole state: ids and counters only.

    `seconds`: the time limit of the wait for an approval. `drop`: the event's `drop` if another attempt holds the step, so that
    the next call still drops old turns.
    """

    v: int
    tenant: str
    run_id: str
    next: Next
    steps: int
    seconds: int
    drop: bool


LONGEST_WAIT = 360 * 24 * 3600
"""The longest wait for an approval in seconds, because an execution lasts a year at most. The sweep handles a later deadline."""


def receipt_of(beat: Heartbeat, advanced: AdvanceResult) -> Receipt:
    """The receipt of a function that has advanced a run."""
    return {
        "v": CONTRACT,
        "tenant": beat.tenant,
        "run_id": beat.run_id,
        "next": advanced.next,
        "steps": advanced.steps,
        "seconds": min(max(advanced.seconds, 1), LONGEST_WAIT),
        "drop": beat.drop and advanced.next == "busy",
    }


class LambdaContext(Protocol):
    """The part of Lambda's context that the handlers use."""

    aws_request_id: str
    invoked_function_arn: str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""


class Retryable(Exception):
    """A failure of the platform: the same call may succeed later. The state machine retries it, and then leaves the run open."""


class StepFailed(Exception):
    """A failure of the step itself: a retry would fail too. It is the only reported error for which the state machine closes the
    run; it treats every unknown name as a failure of the platform.
    """


@contextmanager
def faults_named() -> Iterator[None]:
    """Convert every exception of the block into an error of the state machine. Raises: Retryable, StepFailed."""
    try:
        yield
    except Exception as error:
        if is_passing(error):
            log().warning("step left to a retry", extra={"error": type(error).__qualname__, "place": place_of(error)})
            raise Retryable(type(error).__name__) from error
        log().error("step failed", extra={"error": type(error).__qualname__, "place": place_of(error)})
        raise StepFailed(type(error).__name__) from error
