"""The HTTP replies to errors of the server's error tree, of the framework and of the table (Letta V1 API, API 1.6).

There are two bodies: `{"detail": …}`, and `{"error": {"type", "message", "detail"}}` for a failure of a model's provider. This
module decides status, body and headers; the texts come from the errors.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from reprlib import Repr
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic_core import PydanticSerializationError

from hibernaut.domain.wire.run_failures import UNKNOWN_ERROR, model_text
from hibernaut.ports.storage.table import ConditionFailed, Contended, OutcomeUnknown, TableError, TooLarge
from hibernaut.rest.http.async_bridge import RETRY_AFTER, ServerStops
from hibernaut.rest.http.request_log import ERROR, WHY, printable
from hibernaut.schemas import errors
from hibernaut.schemas.agents.erasure_faults import ErasureRunning
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import HibernautError, ModelError
from hibernaut.schemas.faults.record_faults import RecordLost
from hibernaut.schemas.faults.run_faults import RunUnreadable
from hibernaut.schemas.mcp.faults import McpServerUnavailable
from hibernaut.schemas.memory.version_faults import VersionConflict, VersionExpired

logger = logging.getLogger(__name__)

STATUS: dict[type[HibernautError], int] = {
    errors.InvalidArgument: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.LogExpired: 410,
    VersionExpired: 410,
    errors.PayloadTooLarge: 413,
    errors.UnsupportedMedia: 415,
    errors.Unprocessable: 422,
    errors.BudgetExceeded: 429,
    errors.NotImplementedHere: 501,
    errors.Unavailable: 503,
    errors.ContextWindowExceeded: 400,
    errors.ModelBadRequest: 400,
    errors.ModelAuthentication: 401,
    errors.ModelCredits: 402,
    errors.ModelPermission: 403,
    errors.ModelNotFound: 404,
    errors.ModelRateLimit: 429,
    errors.ModelOverloaded: 503,
    errors.ModelTimeout: 504,
    errors.ModelError: 500,
    RecordLost: 500,
    errors.HibernautError: 500,
}
"""Statuses by class. An error without an entry has the status of its parent class."""

PLAIN_MODEL_ERRORS = (errors.ContextWindowExceeded, errors.ModelOverloaded)

NO_RETRY = {"x-should-retry": "false"}
"""The header that stops the SDK's retries of 409, 429 and 5xx, for errors that a retry cannot resolve (API 1.6)."""

_UNREPEATABLE = (errors.Conflict, errors.NotImplementedHere, RecordLost, RunUnreadable)
"""The errors that have this header alone."""
EXAMPLE_UUID = "123e4567-e89b-42d3-8456-426614174000"
MOST_ERRORS = 20
"""The largest number of errors that a reply lists for one request. A further entry has the number of the others."""
_ID_PATTERN = re.compile(r"\^([a-z_-]+)-\[0-9a-f\]\{8\}")


def install(app: FastAPI) -> None:
    """Register the error handlers with the app."""
    app.add_exception_handler(HibernautError, _ours)
    app.add_exception_handler(TableError, _table)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(UnicodeEncodeError, _no_unicode)
    app.add_exception_handler(PydanticSerializationError, _no_unicode)
    app.add_exception_handler(ServerStops, _stopping)


def status_of(error: HibernautError) -> int:
    """The HTTP status of an error, by its class or the nearest parent class."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def body_of(error: HibernautError) -> JsonObject:
    """The body of an error reply."""
    if isinstance(error, ModelError) and not isinstance(error, PLAIN_MODEL_ERRORS):
        kind, message = model_text(error)
        return {"error": {"type": kind, "message": message, "detail": error.detail}}
    if isinstance(error, errors.Busy):
        return {"detail": error.detail, "run_id": error.run_id}
    if isinstance(error, RunUnreadable):
        return {"detail": error.detail, "code": error.code, "run_id": error.run_id}
    if isinstance(error, errors.AgentPaused | RecordLost):
        return {"detail": error.detail, "code": error.code}
    if isinstance(error, ErasureRunning):
        return {"detail": error.detail, "code": error.code, "erasure_id": error.erasure_id}
    if isinstance(error, VersionConflict):
        return {"detail": error.detail, "code": error.code, "current_version": error.current_version}
    if isinstance(error, errors.ApprovalPending):
        return {"detail": {"code": "PENDING_APPROVAL", "message": error.detail, "pending_request_id": error.request_id}}
    if isinstance(error, McpServerUnavailable):
        server_detail = {"message": error.detail, "error": error.reason, "server_name": error.server_name}
        return {"detail": {"code": "MCPServerUnavailable", **server_detail}}
    if isinstance(error, errors.RouteNotServed):
        return {"detail": error.detail, "code": error.code, "route": error.route}
    if isinstance(error, errors.BudgetExceeded):
        budget_detail = {"code": error.code, "budget": error.budget, "subject": error.subject, "resets_at": error.resets_at}
        return {"detail": error.detail, **budget_detail}
    return {"detail": error.detail}


def headers_of(error: HibernautError) -> dict[str, str]:
    """The headers about retries: when a client may repeat the request, or that a retry is useless. A conflict remains until the
    caller acts, a missing part of the deployment remains missing, and the server has already repeated a failed model call. A
    message that was accepted must not be sent again.
    """
    if isinstance(error, ModelError):
        after = {"retry-after": str(math.ceil(error.retry_after))} if error.retry_after is not None else {}
        return NO_RETRY | after
    if isinstance(error, errors.Unavailable) and not isinstance(error, RunUnreadable):
        return {"retry-after": str(math.ceil(error.retry_after))}
    if isinstance(error, errors.BudgetExceeded):
        useless = NO_RETRY if error.resets_at is not None else {}
        return {"retry-after": str(math.ceil(error.retry_after)), **useless}
    return dict(NO_RETRY) if isinstance(error, _UNREPEATABLE) else {}


def validation_body(found: list[Json]) -> JsonObject:
    """Letta's 422: the list of errors in Python's notation, with an example if an id has the wrong form."""
    listed: list[JsonObject] = [{name: _Shortened(part) for name, part in error.items()} for error in found[:MOST_ERRORS]]
    if len(found) > MOST_ERRORS:
        listed.append({"type": "more", "msg": f"{len(found) - MOST_ERRORS} more errors"})
    body: JsonObject = {"trace_id": "", "detail": str(listed)}
    examples = [f"{prefix}-{EXAMPLE_UUID}" for error in found if (prefix := _id_prefix(error))]
    return body | ({"examples": examples[:1]} if examples else {})


class _Shortened:
    """A part of an error in Python's notation; long values are shortened."""

    _short = Repr()
    _short.maxstring = _short.maxother = _short.maxlong = 1000
    _short.maxlist = _short.maxtuple = _short.maxdict = 20

    def __init__(self, part: Json) -> None:
        self._part = part

    def __repr__(self) -> str:
        return self._short.repr(self._part)


def unknown_error(error: Exception, path: str) -> JSONResponse:
    """The reply to an unhandled exception. The log gets the place in the code, never the text, which may quote a body."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame is not None else ""
    logger.error("request failed", extra={"error": type(error).__qualname__, "place": place, "path": printable(path)})
    return JSONResponse({"detail": UNKNOWN_ERROR}, 500)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HibernautError):
        return unknown_error(error, request.url.path)
    if type(error) is HibernautError:
        # The run failed because of a defect: a repeated request attaches to it and gets the same error.
        reply = unknown_error(error, request.url.path)
        reply.headers.update(NO_RETRY)
        return reply
    setattr(request.state, ERROR, error.code)
    setattr(request.state, WHY, reason_of(error))
    return JSONResponse(body_of(error), status_of(error), headers_of(error))


def _field(fault: Mapping[str, Any]) -> str:
    """The field of a fault, without names that the request has chosen: keys within it, and names of unknown fields."""
    return ".".join(map(str, fault["loc"][: 1 if fault["type"] == "extra_forbidden" else 2]))


def reason_of(error: HibernautError) -> str:
    """What an error of this kind says of a request, without the values of the request."""
    first_paragraph = (type(error).__doc__ or "").partition("\n\n")[0]
    return " ".join(first_paragraph.split())


async def _table(request: Request, error: Exception) -> JSONResponse:
    """The reply to a table error that no use case has converted."""
    match error:
        case ConditionFailed():
            setattr(request.state, ERROR, errors.Conflict.code)
            return JSONResponse({"detail": "CONFLICT: The record was changed by another request at the same time."}, 409)
        case Contended() | OutcomeUnknown():
            return await _ours(request, errors.StoreUnavailable("The table is busy or does not answer; try again.", RETRY_AFTER))
        case TooLarge():
            setattr(request.state, ERROR, errors.PayloadTooLarge.code)
            return JSONResponse(
                {"detail": "The request is larger than one transaction of the table can hold (4 MB, 100 records)."}, 413
            )
        case _:
            return unknown_error(error, request.url.path)


async def _stopping(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"detail": "The server stops; the run goes on when it is back."}, 503, {"retry-after": "2"})


async def _validation(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        return unknown_error(error, request.url.path)
    setattr(request.state, ERROR, errors.Unprocessable.code)
    found = error.errors()[:MOST_ERRORS]
    setattr(request.state, WHY, "; ".join(f"{_field(one)}: {one['type']}" for one in found))
    return JSONResponse(validation_body(list(error.errors())), 422)


async def _no_unicode(request: Request, error: Exception) -> JSONResponse:
    """The reply to a body with an unpaired surrogate: JSON can express one, but stored or sent text cannot contain it."""
    if isinstance(error, UnicodeEncodeError) or "surrogates not allowed" in str(error):
        return JSONResponse({"detail": "INVALID_ARGUMENT: The request holds text that is not valid Unicode."}, 400)
    return unknown_error(error, request.url.path)


def _id_prefix(error: Json) -> str | None:
    if error.get("type") != "string_pattern_mismatch":
        return None
    match = _ID_PATTERN.match(str(error.get("ctx", {}).get("pattern", "")))
    return match.group(1) if match else None
