"""The functions' log: one JSON object per line, with an event name and fields, and never a body, a prompt or a key.

Every line has the ids of its invocation (`correlated`) and, if X-Ray is on, the id of its trace.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from hibernaut.schemas.base import JsonObject

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

P = ParamSpec("P")
R = TypeVar("R")
SERVICE = "hibernaut"


class Invocation(Protocol):
    """The part of Lambda's context that the log uses."""

    aws_request_id: str


C = TypeVar("C", bound=Invocation)


@cache
def log() -> Logger:
    """The logger of the functions and of the package `hibernaut`: services and adapters log in the same format."""
    from aws_lambda_powertools import Logger

    from functions.metrics import MetricFormatter
    from hibernaut.wiring.settings import environment_name

    return Logger(service=SERVICE, logger_formatter=MetricFormatter(env=environment_name(), service=SERVICE))


def correlated(
    handler: Callable[Concatenate[JsonObject, C, P], R],
) -> Callable[Concatenate[JsonObject, C, P], R]:
    """A handler with log lines that contain the id of the invocation, and the id of its run or of the gateway's request."""

    @wraps(handler)
    def logged(event: JsonObject, context: C, /, *more: P.args, **named: P.kwargs) -> R:
        logger = log()
        logger.thread_safe_append_keys(request_id=context.aws_request_id, **_ids(event))
        try:
            return handler(event, context, *more, **named)
        finally:
            logger.thread_safe_clear_keys()

    return logged


def _ids(event: JsonObject) -> dict[str, Any]:
    gateway = event.get("requestContext")
    found = {"run_id": event.get("run_id"), "gateway_request_id": gateway.get("requestId") if gateway else None}
    return {name: value for name, value in found.items() if value}
