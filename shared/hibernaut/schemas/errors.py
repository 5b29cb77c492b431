"""The one tree of errors. Each has a stable snake_case `code` and the text for clients; `rest.http.errors` gives the HTTP status.

HibernautError
├─ NotFound              unknown id, handle or label
├─ InvalidArgument       a value that cannot be used (400)
│  ├─ InvalidToolSource  with the line and the column
│  └─ NameTaken          a rename of a tool to an existing name
├─ Unprocessable         a request that contradicts itself (422, hand-written)
├─ Conflict              the current state does not allow the request (409)
│  ├─ Busy               another run owns the conversation; carries its id
│  ├─ ImportContinues    an import goes on in the background
│  ├─ AgentPaused        the agent accepts no messages until it is resumed
│  ├─ ErasureRunning     the request concerns a person who is being erased; carries the erasure (`agents/erasure_faults`)
│  ├─ VersionConflict    the record's version is not that of the request; carries its number (`memory/version_faults`)
│  ├─ SecretUnreadable   the stored value of a secret cannot be opened (`secret_errors`)
│  ├─ ConnectionLimit    too many WebSocket connections, or runs followed on one of them
│  └─ PendingApproval    calls of the conversation wait for an answer; carries the request's id
├─ LogExpired            the run's event log has expired (410)
├─ VersionExpired        the version of the record is no longer retained (410; `memory/version_faults`)
├─ PayloadTooLarge       over the body limit (413)
├─ UnsupportedMedia      a file of a type that cannot be read (415)
├─ Unauthenticated       no key, or an unusable one (401)
├─ Forbidden             the caller lacks permission (403)
│  ├─ ScopeTooNarrow     the API key does not permit the request
│  ├─ NoKeysConfigured   API keys are managed over HTTP only by a caller with a key
│  ├─ ForeignHost        the host in the request is not one of the server's
│  └─ ForeignOrigin      a web page of an origin that is not allowed
├─ RecordLost            the stored content of a record is missing (500; `record_faults`)
├─ BudgetExceeded        a budget of the tenant, the key or the agent is used up (429)
├─ NotImplementedHere    the deployment lacks the requested feature (501)
│  └─ RouteNotServed     a route of V1 that this server does not serve; carries its name
├─ Unavailable           a part of the server cannot answer now (503)
│  ├─ ServerBusy            too many requests are waiting
│  ├─ StoreUnavailable      the table is busy, throttled or unreachable, and the retries are exhausted
│  │  ├─ NewerFormat        a newer release wrote the record
│  │  └─ BlobsUnavailable   the store of large contents is out of reach or full (`record_faults`)
│  ├─ MasterKeyUnavailable  the key that protects stored secrets cannot be read or reached
│  ├─ SecretsUnavailable    the store of provider keys is throttled or unreachable, and no value is cached
│  ├─ RunUnreadable         the message was accepted, and its run cannot be read; carries the run's id (`run_faults`)
│  └─ IdentityProviderUnavailable  the keys of the identity provider cannot be read
└─ ModelError            the model's provider failed; see its subclasses
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hibernaut.schemas.access.access_faults import KeyFault, TokenFault
    from hibernaut.schemas.models.model_call import Exchange


class HibernautError(Exception):
    """The root. `detail` is the `detail` of the HTTP reply; it never contains prompts, message bodies or secrets."""

    code = "internal_error"

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class NotFound(HibernautError):
    """An unknown id, handle or label."""

    code = "not_found"


class InvalidArgument(HibernautError):
    """A value that cannot be used."""

    code = "invalid_argument"


class InvalidToolSource(InvalidArgument):
    """A tool's source that cannot be used. `line` and `column` count from 1; None if no single place is the cause."""

    code = "invalid_tool_source"

    def __init__(self, detail: str, line: int | None = None, column: int | None = None) -> None:
        self.line, self.column = line, column
        place = f"line {line}, column {column}" if column else f"line {line}"
        super().__init__(f"{detail} ({place})" if line else detail)


class NameTaken(InvalidArgument):
    """Another tool has the requested name."""

    code = "name_taken"


class Unprocessable(HibernautError):
    """A request that contradicts itself."""

    code = "unprocessable"


class Conflict(HibernautError):
    """The current state does not allow the request."""

    code = "conflict"


class Busy(Conflict):
    """Another run owns the conversation; `run_id` is its id."""

    code = "conversation_busy"

    def __init__(self, detail: str, run_id: str | None) -> None:
        self.run_id = run_id
        super().__init__(detail)


class ApprovalPending(Conflict):
    """Calls of the conversation wait for an answer. `request_id` is the message with the approval request; `run_id` the
    requesting run, if known.
    """

    code = "pending_approval"

    def __init__(self, detail: str, request_id: str, run_id: str | None = None) -> None:
        self.request_id = request_id
        self.run_id = run_id
        super().__init__(detail)


class ImportContinues(Conflict):
    """An import was accepted, and another worker completes it. A repeated request would import the file again."""

    code = "import_continues"


class AgentPaused(Conflict):
    """The agent is paused and accepts no message."""

    code = "agent_paused"


class ConnectionLimit(Conflict):
    """The tenant has too many WebSocket connections, or one of them follows too many runs."""

    code = "connection_limit"


class LogExpired(HibernautError):
    """The run's event log has expired."""

    code = "log_expired"


class PayloadTooLarge(HibernautError):
    """The body exceeds the size limit."""

    code = "payload_too_large"


class ReplyTooLarge(PayloadTooLarge):
    """The reply to a valid request exceeds what the deployment can send in one reply. `largest` in bytes."""

    code = "reply_too_large"

    def __init__(self, size: int, largest: int) -> None:
        super().__init__(
            f"The reply would have {size} bytes, and this deployment sends at most {largest} in one. Ask for less: a smaller `limit`, "
            "or one object at a time."
        )


class UnsupportedMedia(HibernautError):
    """A file of a type that cannot be read."""

    code = "unsupported_media"


class Unauthenticated(HibernautError):
    """Neither a valid API key nor a valid token. `detail` is V1's text; `fault` and `hint` say what is wrong and what to do."""

    code = "unauthenticated"

    def __init__(self, fault: KeyFault | TokenFault, hint: str) -> None:
        self.fault = fault
        self.hint = hint
        super().__init__("Unauthorized")


class Forbidden(HibernautError):
    """The caller lacks permission."""

    code = "forbidden"


class ScopeTooNarrow(Forbidden):
    """The scope, the kind or the agents of the API key do not permit the request."""

    code = "scope_too_narrow"


class NoKeysConfigured(Forbidden):
    """The server has no API keys yet, so nobody may manage them over HTTP."""

    code = "no_keys_configured"


class ForeignHost(Forbidden):
    """The Host header is not one of the server's names: a web page may have re-pointed its own name to this server (DNS
    rebinding).
    """

    code = "foreign_host"


class ForeignOrigin(Forbidden):
    """The request comes from a web page of an origin that is not allowed."""

    code = "foreign_origin"


class BudgetExceeded(HibernautError):
    """A budget is used up. `budget`: the name of its limit; `subject`: `tenant`, or the id of the key or the agent; `resets_at`:
    when the limit's figure begins at zero again (None: as soon as a run or a second ends); `retry_after`: seconds until then.
    """

    code = "budget_exceeded"

    def __init__(self, detail: str, *, budget: str, subject: str, resets_at: str | None, retry_after: float) -> None:
        self.budget = budget
        self.subject = subject
        self.resets_at = resets_at
        self.retry_after = retry_after
        super().__init__(detail)


class NotImplementedHere(HibernautError):
    """This deployment lacks the requested feature."""

    code = "not_implemented_here"


class RouteNotServed(NotImplementedHere):
    """A route of V1 that this server does not serve. `route` is "METHOD path" with the names of its parameters, `what` says what
    it does in V1, `never` is the reason why it is not served.
    """

    code = "route_not_served"

    def __init__(self, route: str, what: str, never: str) -> None:
        self.route = route
        why = f"({what.rstrip('.')}) is not part of this server. {never}"
        super().__init__(f"NOT_IMPLEMENTED: {route} {why} docs/compatibility.md lists every route.")


class Unavailable(HibernautError):
    """A part of the server cannot answer now. `retry_after`: seconds after which the same request may succeed."""

    code = "unavailable"

    def __init__(self, detail: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(detail)


class ServerBusy(Unavailable):
    """Too many requests of one kind are waiting."""

    code = "server_busy"


class StoreUnavailable(Unavailable):
    """The table did not respond in time."""

    code = "store_unavailable"


class NewerFormat(StoreUnavailable):
    """A newer release wrote the record. `version`: its format; `read`: the newest format that this release reads."""

    code = "newer_format"

    def __init__(self, version: int, read: int) -> None:
        self.version, self.read = version, read
        super().__init__(
            f"A record has format {version}, and this release reads formats up to {read}: a newer release wrote it. Nothing was changed. "
            "Run that release again.",
            retry_after=60.0,
        )


class MasterKeyUnavailable(Unavailable):
    """The key that protects stored secrets cannot be read or reached."""

    code = "master_key_unavailable"


class SecretsUnavailable(Unavailable):
    """The store of provider keys did not respond, and no earlier values are cached."""

    code = "secrets_unavailable"


class IdentityProviderUnavailable(Unavailable):
    """The keys that verify an identity provider's tokens cannot be read."""

    code = "identity_provider_unavailable"


class ModelError(HibernautError):
    """The provider failed. `retry_after` is in seconds, if the provider stated it; `retryable`: the same request may succeed
    later. `exchange` holds the bodies of the call, for its trace; `received` is empty if the provider sent no error response.
    """

    code = "llm_error"
    retryable = False
    exchange: Exchange | None = None

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(detail)


class ModelConnection(ModelError):
    """No connection to the provider, or a broken one."""

    code = "llm_connection"
    retryable = True


class ModelRateLimit(ModelError):
    """The provider's rate limit or quota is reached."""

    code = "llm_rate_limit"
    retryable = True


class ModelOverloaded(ModelError):
    """The provider answered 5xx or reported overload."""

    code = "llm_overloaded"
    retryable = True


class ModelTimeout(ModelError):
    """The provider did not respond in time."""

    code = "llm_timeout"


class ModelAuthentication(ModelError):
    """The provider rejects the key."""

    code = "llm_authentication"


class ModelPermission(ModelError):
    """The key lacks permission for the model or the operation."""

    code = "llm_permission_denied"


class ModelCredits(ModelError):
    """The account at the provider has no credit left."""

    code = "llm_insufficient_credits"


class ModelBadRequest(ModelError):
    """The provider rejects the request as invalid."""

    code = "llm_bad_request"


class ModelNotFound(ModelError):
    """The provider does not know the model."""

    code = "llm_not_found"


class ContextWindowExceeded(ModelError):
    """The request is longer than the model's context window."""

    code = "context_window_exceeded"


class InvalidModelResponse(ModelError):
    """The reply is empty, cut off, or violates the wire format."""

    code = "llm_empty_response"


def place_of(error: BaseException) -> str:
    """Where an error was raised, as `file.py:line`: loggable even if the error's text may quote a prompt or a body."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}"


MODEL_CALL_ERRORS: tuple[type[HibernautError], ...] = (ModelError, NotFound, InvalidArgument, NotImplementedHere)
"""The errors of a model call: the provider's, of its handle or settings, or a missing feature. Those of the table are none."""
