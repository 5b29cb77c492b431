"""What the functions are called with, and the errors that the state machine knows by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from hibernaut.ports.table import Contended, OutcomeUnknown
from hibernaut.schemas.base import Schema
from hibernaut.schemas.errors import Conflict


class Heartbeat(Schema):
    """What the state machine passes: which run, and (to `close_run`) the name of the error that ended its steps."""

    tenant: str
    run_id: str
    error: str | None = None


class LambdaContext(Protocol):
    """The part of Lambda's context that is used here."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


class Retryable(Exception):
    """Nothing is wrong with the run: the same call may succeed in a moment. Named in the state machine's Retry."""


@contextmanager
def retried_by_the_workflow() -> Iterator[None]:
    """Gives what only time cures the name that the state machine retries by. Raises: Retryable."""
    try:
        yield
    except (Contended, OutcomeUnknown, Conflict, OSError) as error:
        raise Retryable(type(error).__name__) from error
