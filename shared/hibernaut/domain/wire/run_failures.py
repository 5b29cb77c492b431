"""The error of a failed run as clients see it: in its stream, and in the metadata of the run (API 6.2; RT 13.1).

Must not know HTTP statuses, nor how a blocking reply is built.
"""

from __future__ import annotations

from hibernaut.schemas import errors
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ContextWindowExceeded, InvalidModelResponse, ModelError
from hibernaut.schemas.faults.rebuilt_error import rebuilt
from hibernaut.schemas.messages.letta_message import LettaErrorMessage
from hibernaut.schemas.runs.run import Run, RunError, StoredRun

MODEL_TEXT: dict[type[ModelError], tuple[str, str]] = {
    errors.ModelBadRequest: ("llm_bad_request", "The model's provider refused the request as malformed."),
    errors.ModelAuthentication: ("llm_authentication", "The model's provider did not accept the key."),
    errors.ModelCredits: ("llm_insufficient_credits", "The account at the model's provider has no credits left."),
    errors.ModelPermission: ("llm_permission_denied", "The model's provider does not permit this request."),
    errors.ModelNotFound: ("llm_not_found", "The model's provider does not know the model."),
    errors.ModelRateLimit: (
        "llm_rate_limit",
        "Rate limit exceeded for LLM model provider. Please wait before making another request.",
    ),
    errors.ModelTimeout: ("llm_timeout", "The model's provider did not answer in time."),
    errors.ModelError: ("llm_error", "The model's provider failed."),
}
"""Types and messages of provider failures, by class."""

STREAMED = frozenset({"llm_timeout", "llm_rate_limit", "llm_authentication", "llm_error"})
"""The types among them that the error of a run may have (API 6.2); the others are `llm_error` there."""

UNKNOWN_ERROR = "An unknown error occurred"


def model_text(error: ModelError) -> tuple[str, str]:
    """The type and the message that clients get for a provider's failure."""
    return next(MODEL_TEXT[kind] for kind in type(error).__mro__ if kind in MODEL_TEXT)


def error_message(run_id: str, failed: RunError, number: int | None = None) -> LettaErrorMessage:
    """The error of a run; `number`: its sequence number in a stream."""
    error = rebuilt(failed.code, failed.message)
    kind, message = "internal_error", UNKNOWN_ERROR
    if isinstance(error, ModelError):
        kind, message = model_text(error)
        if kind not in STREAMED:
            kind = "llm_error"
    if isinstance(error, InvalidModelResponse):
        kind = "llm_empty_response"
    if isinstance(error, ContextWindowExceeded):
        kind = "context_window_overflow_in_system_prompt"
    detail = failed.detail or failed.message
    return LettaErrorMessage(run_id=run_id, error_type=kind, message=message, detail=detail, seq_id=number)


def shown_metadata(run: StoredRun) -> JsonObject | None:
    """The metadata of a run, with `error` if it failed."""
    if run.error is None:
        return run.metadata
    return {**(run.metadata or {}), "error": error_message(run.id, run.error).model_dump(mode="json")}


def shown_run(run: StoredRun) -> Run:
    """The wire form of a run."""
    return run.wire().model_copy(update={"metadata": shown_metadata(run)})
