"""Maps a provider's error responses to our errors (RT 11.5). Knows statuses, codes and phrases of providers;
no SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    ModelAuthentication,
    ModelBadRequest,
    ModelCredits,
    ModelError,
    ModelNotFound,
    ModelOverloaded,
    ModelPermission,
    ModelRateLimit,
    ModelTimeout,
)
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.model_call import Exchange

_LONGEST_MESSAGE = 300
_LIKE_A_KEY = r"\b(?:sk|key|Bearer)[-_ ][\w*.\-]{6,}|(?<=://)[^\s/:@\"]{0,100}:[^\s/@\"]{1,200}(?=@)"
"""A key, or the name and the password in an address."""
_TOO_LONG = (
    r"context[ _](?:length|window|size|limit)|maximum context|(?:maximum|longer than the|exceeds? max(?:imum)?) (?:prompt|model) length"
    r"|prompt (?:is|contains|exceeds|token count).*(?:too long|too large|max length|exceeds)|too many (?:input )?tokens|model token limit"
    r"|input is too long|reduce the length of|token count .*(?:exceeds the maximum|only supports up to)"
    r"|`inputs` (?:tokens \+|must have less)|too large for model|exceed_context"
)
"""How providers say that a prompt is too long. `tests/contracts/model/test_refusals.py` has the texts with their sources."""
_PER_MINUTE = r"tokens per (?:minute|min|day)\b|\b(?:TPM|TPD|ITPM)\b|rate[ _]limit"
_NO_CREDIT = (
    r"insufficient[ _](?:quota|credits?|balance|funds)|credit balance|exceeded your current quota|out of credits|credits are depleted"
    r"|invalid_payment_instrument|enable billing|billing to be enabled"
)
"""The last three are Bedrock's (a model of AWS Marketplace), and Google's for a project without billing
(ai.google.dev/gemini-api/docs/troubleshooting, FAILED_PRECONDITION).
"""
_AGAIN_IN = r"(?:retry|try again) in (\d+(?:\.\d+)?) ?s\b"
"""What tells a limit of the rate from an empty account, which Gemini names by the same words."""
_BAD_KEY = r"(?:invalid|incorrect) api key|api key not valid"
"""How Gemini and xAI refuse a key with the status 400."""
_NO_STREAMS = r"\bstream(?:s|ed|ing|_options)?\b"
_STATUS_OF_KIND = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "invalid_request_error": 400,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "modelTimeoutException": 408,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}
"""The last six are exceptions inside Bedrock's event streams (botocore, `bedrock-runtime`, `ResponseStream`)."""
_BAD_CREDENTIALS = frozenset(
    {
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
"""How AWS refuses a signature (docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html). Its text may repeat what was
signed.
"""
_BAD_MODEL = r"model identifier is invalid"
"""How Bedrock refuses an unknown model with the status 400."""


def _found(pattern: str, text: str) -> re.Match[str] | None:
    """Where a text has the pattern. Patterns are compiled at the first refusal: a cold process pays for none of them."""
    return re.search(pattern, text, re.IGNORECASE)


def _hidden(text: str) -> str:
    """The text without what looks like a key."""
    return re.sub(_LIKE_A_KEY, "***", text, flags=re.IGNORECASE)


@immutable
class Refusal:
    """A provider's error response. `status` 200: the error came inside a reply, and `kind` or `code` says more. `body` is
    the whole response, without what looks like a key.
    """

    provider: str
    status: int
    message: str = ""
    kind: str = ""
    code: str = ""
    retry_after: float | None = None
    body: Json = None


def read_refusal(provider: str, status: int, body: Json, headers: Mapping[str, str]) -> Refusal:
    """Parse the body of an error response: `{"error": {"message", "type", "code"}}` in all its variants, plain text, or
    nothing.
    """
    error = _error(body)
    if isinstance(error, dict):
        kind, code = (str(error.get(name) or "") for name in ("type", "code"))
        message = _upstream(error) or _words(error.get("message") or error.get("Message") or error.get("detail"))
    else:
        message, kind, code = error if isinstance(error, str) else "", "", ""
    code = code or headers.get("x-amzn-errortype", "").partition(":")[0]
    after = retry_after(headers)
    if after is None and (again := _found(_AGAIN_IN, message)):
        after = float(again[1])
    return Refusal(provider, status, message, kind, code, after, None if code in _BAD_CREDENTIALS else _without_keys(body))


def _error(body: Json) -> Json:
    """The error of a body. Gemini puts its body into an array."""
    if isinstance(body, list) and body:
        body = body[0]
    return body.get("error", body) if isinstance(body, dict) else body


def _words(message: Json) -> str:
    """A message: a text, or the texts of an object or a list (Mistral's and FastAPI's validation)."""
    match message:
        case str():
            return message
        case list():
            return "; ".join(words for each in message if (words := _words(each)))
        case {"msg": str(words), **rest}:
            place = rest.get("loc")
            return f"{words} ({'.'.join(str(each) for each in place)})" if isinstance(place, list) else words
        case dict():
            return _words(message.get("detail") or message.get("message") or "")
        case _:
            return ""


def _upstream(error: JsonObject) -> str:
    """What the provider behind OpenRouter said, in `metadata.raw`: JSON or a text."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str):
        return ""
    try:
        inner = _error(json.loads(raw))
    except (ValueError, RecursionError):
        return raw
    return (_words(inner.get("message")) if isinstance(inner, dict) else "") or raw


def model_error(refusal: Refusal) -> ModelError:
    """The error, with the provider's message as far as it may be shown: shortened, and without keys."""
    kind, message = _kind(refusal), _printable(refusal.message) or "no reason given"
    # What a provider says of a key may repeat it.
    why = f"{_credential(refusal)} refused" if kind is ModelAuthentication else message
    advice = _advice(kind, refusal)
    error = kind(f"{refusal.provider}: {why} (status {refusal.status}){advice}", retry_after=refusal.retry_after)
    error.exchange = Exchange(sent={}, received={"status": refusal.status, "body": refusal.body})
    return error


def _credential(refusal: Refusal) -> str:
    return f"the AWS credentials ({refusal.code}) were" if refusal.code in _BAD_CREDENTIALS else "the API key was"


def _advice(kind: type[ModelError], refusal: Refusal) -> str:
    """What a user can do about an error of this kind."""
    if kind is ModelCredits:
        return "; add credit to the account at this provider, or choose a model of another one"
    if refusal.code == "AccessDeniedException":
        return "; allow bedrock:InvokeModel for this model in the caller's role, and the model in the account"
    if kind is ModelNotFound:
        return "; GET /v1/models/ lists the models that exist; if it lists none, check the provider's address"
    return ""


def refuses_streams(error: ModelBadRequest) -> bool:
    """Whether the provider rejected the request only because it asked for a stream."""
    return _found(_NO_STREAMS, error.detail) is not None


def _kind(refusal: Refusal) -> type[ModelError]:
    status = _status(refusal)
    if refusal.code in _BAD_CREDENTIALS:
        return ModelAuthentication
    words = f"{refusal.code} {refusal.message}"
    if status == 402 or (400 <= status < 500 and _found(_NO_CREDIT, words) and not _found(_AGAIN_IN, words)):
        return ModelCredits
    if status == 400 and _found(_BAD_KEY, words):
        return ModelAuthentication
    if status == 400 and _found(_BAD_MODEL, words):
        return ModelNotFound
    if status == 413 and _found(_PER_MINUTE, words):
        return ModelRateLimit  # Groq refuses so what a minute's tokens do not suffice for
    if status == 413 or (status in (400, 422) and _found(_TOO_LONG, words)):
        return ContextWindowExceeded
    fixed: dict[int, type[ModelError]] = {
        401: ModelAuthentication,
        403: ModelPermission,
        404: ModelNotFound,
        408: ModelTimeout,
        409: ModelError,
        424: ModelOverloaded,  # Bedrock's ModelErrorException: the model failed, not the request
        429: ModelRateLimit,
    }
    if status in fixed:
        return fixed[status]
    if 400 <= status < 500:
        return ModelBadRequest
    return ModelOverloaded if status >= 500 else ModelError


def _status(refusal: Refusal) -> int:
    if refusal.status >= 400:
        return refusal.status
    if refusal.code.isdecimal() and 400 <= int(refusal.code) < 600:
        return int(refusal.code)
    return _STATUS_OF_KIND.get(refusal.code) or _STATUS_OF_KIND.get(refusal.kind) or refusal.status


def _without_keys(body: Json) -> Json:
    try:
        clean: Json = json.loads(_hidden(json.dumps(body)))
    except RecursionError:
        return None
    return clean


def _printable(message: str) -> str:
    clean = _hidden(" ".join(message.split()))
    return clean if len(clean) <= _LONGEST_MESSAGE else f"{clean[:_LONGEST_MESSAGE]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after`; a date is relative to the response's own `date`."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if re.fullmatch(r"\s*\d+(\.\d*)?\s*", value):
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(headers["date"])).total_seconds())
    except (KeyError, TypeError, ValueError):
        return None
