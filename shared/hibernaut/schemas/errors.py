"""The one tree of errors. Each carries a stable snake_case `code` and the text that clients are shown; `rest.errors` gives the HTTP status.

HibernautError
├─ NotFound              unknown id, handle, label
├─ InvalidArgument       a value that cannot be used (400)
│  ├─ InvalidToolSource  with the line
│  └─ NameTaken          a rename onto a taken tool name
├─ Unprocessable         a request that contradicts itself (422, hand-written)
├─ Conflict              the state of things does not allow it (409)
│  ├─ Busy               another run owns the conversation; carries its id
│  └─ PendingApproval    calls of the conversation wait for an answer; carries the request's id
├─ LogExpired            a run's event log is kept no longer (410)
├─ PayloadTooLarge       over the body limit (413)
├─ UnsupportedMedia      a file of a type that cannot be read (415)
├─ Unauthenticated       (401)
├─ Forbidden             the caller may not do this (403)
│  ├─ ForeignHost        the request names a host that is not the server's
│  └─ ForeignOrigin      a web page of an origin that is not allowed
├─ NotImplementedHere    the deployment lacks what is asked (501)
│  └─ RouteNotServed     a route of V1 that this server does not serve; carries its name
├─ ServerBusy            more requests wait than the server lets (503)
├─ StoreUnavailable      the table is busy, throttled or out of reach for longer than it is asked again (503)
└─ ModelError            the model's provider failed; see its subclasses
"""

from __future__ import annotations


class HibernautError(Exception):
    """`detail` is the text of the reply's `detail`; it never holds prompts, bodies or secrets."""

    code = "internal_error"

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class NotFound(HibernautError):
    code = "not_found"


class InvalidArgument(HibernautError):
    code = "invalid_argument"


class InvalidToolSource(InvalidArgument):
    """`line` counts from 1 in the tool's source; None where no line is to blame."""

    code = "invalid_tool_source"

    def __init__(self, detail: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(f"{detail} (line {line})" if line else detail)


class NameTaken(InvalidArgument):
    code = "name_taken"


class Unprocessable(HibernautError):
    code = "unprocessable"


class Conflict(HibernautError):
    code = "conflict"


class Busy(Conflict):
    """`run_id` is the run that owns the conversation."""

    code = "conversation_busy"

    def __init__(self, detail: str, run_id: str | None) -> None:
        self.run_id = run_id
        super().__init__(detail)


class PendingApproval(Conflict):
    """`request_id` is the message that asks for the approval; `run_id` the run that asked, where it is known."""

    code = "pending_approval"

    def __init__(self, detail: str, request_id: str, run_id: str | None = None) -> None:
        self.request_id = request_id
        self.run_id = run_id
        super().__init__(detail)


class LogExpired(HibernautError):
    code = "log_expired"


class PayloadTooLarge(HibernautError):
    code = "payload_too_large"


class UnsupportedMedia(HibernautError):
    code = "unsupported_media"


class Unauthenticated(HibernautError):
    code = "unauthenticated"


class Forbidden(HibernautError):
    """The caller may not do this."""

    code = "forbidden"


class ForeignHost(Forbidden):
    """The request's Host is none of the server's names: a page may have re-pointed its own name here (DNS rebinding)."""

    code = "foreign_host"


class ForeignOrigin(Forbidden):
    """The request comes from a web page of an origin that is not allowed."""

    code = "foreign_origin"


class NotImplementedHere(HibernautError):
    code = "not_implemented_here"


class RouteNotServed(NotImplementedHere):
    """`route` is "METHOD path" with its parameters' names, `what` says what it does in V1; `never` why it will not come, if it will not."""

    code = "route_not_served"

    def __init__(self, route: str, what: str, never: str = "") -> None:
        self.route = route
        standing = f"is not part of this server. {never}" if never else "is not served yet."
        super().__init__(f"NOT_IMPLEMENTED: {route} ({what.rstrip('.')}) {standing} docs/compatibility.md lists every route.")


class ServerBusy(HibernautError):
    """More requests of one kind wait than the server lets. `retry_after`: seconds after which the same request may succeed."""

    code = "server_busy"

    def __init__(self, detail: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(detail)


class StoreUnavailable(HibernautError):
    """The table did not answer in time. `retry_after`: seconds after which the same request may succeed."""

    code = "store_unavailable"

    def __init__(self, detail: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(detail)


class ModelError(HibernautError):
    """The provider failed. `retry_after` in seconds, where it said so; `retryable`: the same request may succeed later."""

    code = "llm_error"
    retryable = False

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(detail)


class ModelConnection(ModelError):
    """No connection, or it broke."""

    code = "llm_connection"
    retryable = True


class ModelRateLimit(ModelError):
    code = "llm_rate_limit"
    retryable = True


class ModelOverloaded(ModelError):
    """The provider answered 5xx or said that it is overloaded."""

    code = "llm_overloaded"
    retryable = True


class ModelTimeout(ModelError):
    code = "llm_timeout"


class ModelAuthentication(ModelError):
    code = "llm_authentication"


class ModelPermission(ModelError):
    code = "llm_permission_denied"


class ModelCredits(ModelError):
    code = "llm_insufficient_credits"


class ModelBadRequest(ModelError):
    code = "llm_bad_request"


class ModelNotFound(ModelError):
    """The provider does not know the model."""

    code = "llm_not_found"


class ContextWindowExceeded(ModelError):
    code = "context_window_exceeded"


class InvalidModelResponse(ModelError):
    """The reply was empty, cut off, or not what the wire format says."""

    code = "llm_empty_response"


def place_of(error: BaseException) -> str:
    """Where an error was raised, `file.py:line`: what may be logged of one whose text may quote a prompt or a body."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}"


MODEL_CALL_ERRORS: tuple[type[HibernautError], ...] = (ModelError, NotFound, InvalidArgument, NotImplementedHere)
"""What may come of asking a model: of its provider, its handle, its settings, or what the deployment lacks. The table's errors are none
of them: a run whose events cannot be written has not failed by its model."""


def rebuilt(code: str, detail: str) -> HibernautError:
    """The error of a code, as it was before it was stored with a run; an unknown code gives the root."""
    pending = list(MODEL_CALL_ERRORS)
    while pending:
        kind = pending.pop()
        if kind.code == code:
            return kind(detail)
        pending += kind.__subclasses__()
    return HibernautError(detail)
