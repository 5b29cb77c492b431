"""The fallback models of an agent: which models are called, and after which failures, if the agent's own model cannot answer."""

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from hibernaut.schemas.base import Json, Schema
from hibernaut.schemas.limits import Name

MOST_FALLBACKS = 5
"""The largest number of fallback models of an agent."""

FailureCode = Literal[
    "llm_error",
    "llm_connection",
    "llm_rate_limit",
    "llm_overloaded",
    "llm_timeout",
    "llm_authentication",
    "llm_permission_denied",
    "llm_insufficient_credits",
    "llm_bad_request",
    "llm_not_found",
    "context_window_exceeded",
    "llm_empty_response",
]
"""A failure of a model call: the `code` of its error (docs/errors.md)."""


class ModelFallback(Schema):
    """One fallback model. `model` is a handle. `on` lists the failures of the models before it after which it is called; null:
    the failures that the provider causes (`domain.models.retries`). A handle alone stands for `{"model": handle}`.
    """

    model: Name
    on: Annotated[list[FailureCode], Field(min_length=1, max_length=len(get_args(FailureCode)))] | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_handle(cls, value: Json) -> Json:
        return {"model": value} if isinstance(value, str) else value


Fallbacks = Annotated[list[ModelFallback], Field(max_length=MOST_FALLBACKS)]
"""In the order in which the models are called."""
