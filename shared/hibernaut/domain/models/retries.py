"""When a failed model call is tried again, and when another model is asked: the one policy there is (architecture 3, no hidden retries).

It knows errors and numbers; waiting, counting and drawing the jitter belong to the caller, and so does the first rule: once a piece of
the reply has arrived, nothing is asked again.
"""

from __future__ import annotations

from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    HibernautError,
    InvalidModelResponse,
    ModelBadRequest,
    ModelError,
    NotFound,
)

TRIES = 3
FIRST_DELAY, LONGEST_DELAY = 0.5, 8.0
LONGEST_RETRY_AFTER = 60.0


def delay(attempt: int, error: ModelError, jitter: float) -> float | None:
    """Seconds to wait after the failed `attempt` (counted from 1), or None: give up.

    `jitter` is a number from 0 up to 1 that the caller drew; it lengthens the delay, so that many callers do not come back at once.
    A provider that asks for more than a minute is not waited for: asking earlier would only be refused again.
    """
    if attempt >= TRIES or not error.retryable:
        return None
    asked = error.retry_after or 0.0
    if asked > LONGEST_RETRY_AFTER:
        return None
    backoff = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (attempt - 1) * (1 + jitter))
    return max(backoff, asked)


def another_model_may_help(error: HibernautError) -> bool:
    """Whether the failure is the provider's: it is down, slow or full, has no credit or no such model left, or refuses our key.

    What lies in the request (it is malformed, or too long) or in the reply is not cured by asking somebody else.
    """
    if isinstance(error, ContextWindowExceeded | ModelBadRequest | InvalidModelResponse):
        return False
    return isinstance(error, ModelError | NotFound)
