"""The retry policy of model calls: the backoff after a failed call, and when a fallback model is called.

Knows errors and numbers. The caller waits, counts and draws the jitter, and follows the first rule: after the first piece of a
reply, there is no retry.
"""

from __future__ import annotations

from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    HibernautError,
    InvalidModelResponse,
    MasterKeyUnavailable,
    ModelBadRequest,
    ModelConnection,
    ModelError,
    ModelNotFound,
    NotFound,
    SecretsUnavailable,
)
from hibernaut.schemas.models.fallback import ModelFallback

TRIES = 3
FIRST_DELAY, LONGEST_DELAY = 0.5, 8.0
LONGEST_RETRY_AFTER = 60.0
KEY_OUTAGES = (MasterKeyUnavailable, SecretsUnavailable)
"""The errors of a provider's key that cannot be read now. They end no run, and another model may answer meanwhile."""


def delay(attempt: int, error: ModelError, jitter: float) -> float | None:
    """Seconds of backoff after the failed `attempt` (counted from 1), or None: give up.

    `jitter` is a random number in [0, 1) that lengthens the delay, so that many callers do not retry at the same time. If the
    provider demands more than a minute, the caller gives up, because an earlier retry would be refused again.
    """
    if attempt >= TRIES or not error.retryable:
        return None
    demanded = error.retry_after or 0.0
    if demanded > LONGEST_RETRY_AFTER:
        return None
    backoff = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (attempt - 1) * (1 + jitter))
    return max(backoff, demanded)


def failure_code(error: HibernautError) -> str:
    """The code by which a fallback model is chosen. A handle that no provider serves is a model that does not exist; a provider
    whose key cannot be read now is one that cannot be reached.
    """
    if isinstance(error, KEY_OUTAGES):
        return ModelConnection.code
    return ModelNotFound.code if isinstance(error, NotFound) else error.code


def helps(fallback: ModelFallback, error: HibernautError) -> bool:
    """Whether the fallback model is called after this failure of the model before it.

    Without a list of its own it is called if the provider caused the failure: it is down, slow or overloaded, has no credit left,
    lacks the model, or refuses our key. A malformed or too long request, or a bad reply, would usually fail with another model as
    well.
    """
    if not isinstance(error, (ModelError, NotFound, *KEY_OUTAGES)):
        return False
    if fallback.on is not None:
        return failure_code(error) in fallback.on
    return not isinstance(error, ContextWindowExceeded | ModelBadRequest | InvalidModelResponse)
