"""Log probabilities of a reply's tokens in the form of Letta's API (API 4.7): that of Chat Completions. Pure.

Servers may leave out what clients need, so a token without a text or a number is skipped.
"""

from __future__ import annotations

from hibernaut.adapters.model.wire.json_fields import as_list
from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest

MOST_ALTERNATIVES = 20
"""Alternatives of a token, at most (openai/types/chat/completion_create_params.py, `top_logprobs`;
ai.google.dev/api/generate-content, `logprobs`). A larger number is lowered to it."""


def alternatives(request: ModelRequest) -> int | None:
    """The requested number of alternatives per token; None: no log probabilities."""
    config = request.config
    return min(config.top_logprobs or 0, MOST_ALTERNATIVES) if config.return_logprobs else None


def refuse_logprobs(request: ModelRequest, reason: str) -> None:
    """Refuse a request for log probabilities, because of this reason. Raises: ModelBadRequest."""
    if request.config.return_logprobs:
        raise ModelBadRequest(f"{reason}; leave return_logprobs out, or choose another model")


def tokens(found: Json) -> list[Json]:
    """The tokens of one list, from the form of Chat Completions and Responses."""
    result: list[Json] = []
    for each in as_list(found):
        if isinstance(each, dict) and (token := _token(each)) is not None:
            others = (_token(other) for other in as_list(each.get("top_logprobs")) if isinstance(other, dict))
            result.append(token | {"top_logprobs": [other for other in others if other is not None]})
    return result


def _token(found: JsonObject) -> JsonObject | None:
    text, number, size = found.get("token"), found.get("logprob"), found.get("bytes")
    if not isinstance(text, str) or isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return {"token": text, "logprob": number, "bytes": size if isinstance(size, list) else None}


def as_logprobs(content: list[Json], refusal: list[Json]) -> JsonObject | None:
    """Both lists as a reply has them; None if the provider gave none."""
    return {"content": content or None, "refusal": refusal or None} if content or refusal else None
