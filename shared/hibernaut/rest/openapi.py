"""What the API's description says of refusals and of event streams, in place of what FastAPI supposes.

FastAPI derives parameters, bodies and the replies of success from the routes. It cannot know the table of errors, and describes its own
form of a 422. Knows the shape of an OpenAPI document and the bodies of `rest/errors.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import FastAPI

from hibernaut.schemas.base import JsonObject

METHODS = ("get", "post", "put", "patch", "delete")
TEXT = {"type": "string"}
STREAM_ENDING, MESSAGES_ENDING = "/stream", "/messages"
CHAT_ENDING = "/chat/completions"
MODEL_ENDINGS = (STREAM_ENDING, MESSAGES_ENDING, CHAT_ENDING, "/messages/async", "/summarize", "/compact", "/generate")
"""Ends of the paths whose POST asks a model, and may be refused as its provider refuses."""


def _object(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "required": list(properties), "properties": properties}


SCHEMAS: dict[str, JsonObject] = {
    "Refusal": {"title": "Refusal", "description": "What is wrong, with which value, and what to do.", **_object(detail=TEXT)},
    "InvalidRequest": {
        "title": "InvalidRequest",
        "description": "`detail` is the list of errors as one text.",
        **_object(detail=TEXT),
    },
    "Conflict": {
        "title": "Conflict",
        "description": "`run_id` is the run that has the conversation; an object as `detail` names the approval that is waited for.",
        "type": "object",
        "required": ["detail"],
        "properties": {
            "detail": {"anyOf": [TEXT, _object(code=TEXT, message=TEXT, pending_request_id=TEXT)]},
            "run_id": {"anyOf": [TEXT, {"type": "null"}]},
        },
    },
    "NotServed": {
        "title": "NotServed",
        "description": "`code` and `route` name a route of Letta V1 that this server does not serve.",
        "type": "object",
        "required": ["detail"],
        "properties": {"detail": TEXT, "code": TEXT, "route": TEXT},
    },
    "ProviderFailure": {
        "title": "ProviderFailure",
        "description": "The model's provider failed or refused.",
        **_object(error=_object(type=TEXT, message=TEXT, detail=TEXT)),
    },
}
SCHEMAS["InvalidRequest"]["properties"] |= {"trace_id": TEXT, "examples": {"type": "array", "items": TEXT}}

EVERYWHERE = {
    400: "A value that cannot be used",
    403: "The host or the web page may not call",
    404: "No such thing",
    500: "A fault of the server, which its log tells",
    503: "Too many requests wait, the table is out of reach, or the server stops; `Retry-After` says when to ask again",
}
WITH_INPUT = {422: "The request does not fit its description"}
CHANGING = {
    409: "The state of things does not allow it",
    413: "The body is too large",
    501: "This deployment lacks what is asked",
}
UPLOADING = {415: "A file of this type cannot be read"}
NEVER_CHANGED = {
    ("patch", "/v1/agents/{agent_id}/messages/{message_id}"): {405: "A message cannot be changed: logs are append-only"}
}
"""Routes of V1 that refuse every request."""
RESUMING = {410: "The run's events are kept no longer"}
OF_MODELS = {
    401: "The provider did not accept the key",
    402: "The account at the provider is empty",
    403: "The provider does not permit it, or the host or the web page may not call",
    429: "The provider wants fewer requests",
    504: "The provider did not answer in time",
}
PROVIDERS = frozenset({400, 401, 402, 403, 404, 429, 500, 503, 504})
"""Statuses in which a provider's failure may be told."""


class DescribedApi(FastAPI):
    """An app whose description says how it refuses and what it streams."""

    def openapi(self) -> JsonObject:
        """The whole description, made once."""
        made = self.openapi_schema is None
        document: JsonObject = super().openapi()
        if made:
            _describe(document)
        return document


def _describe(document: JsonObject) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas |= SCHEMAS
    for path, method, operation in _operations(document):
        responses = {status: told for status, told in operation["responses"].items() if status < "400"}
        if method == "post" and path.endswith((STREAM_ENDING, MESSAGES_ENDING, CHAT_ENDING)):
            for told in responses.values():
                _streams(told, path)
        refused = {str(status): _refusal(status, text, path, method) for status, text in _refusals(path, method, operation)}
        operation["responses"] = responses | refused


def _operations(document: JsonObject) -> Iterator[tuple[str, str, JsonObject]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _refusals(path: str, method: str, operation: JsonObject) -> list[tuple[int, str]]:
    found = dict(EVERYWHERE)
    if operation.get("parameters") or "requestBody" in operation:
        found |= WITH_INPUT
    if method != "get":
        found |= CHANGING
    if path.endswith("/upload"):
        found |= UPLOADING
    if path.endswith(STREAM_ENDING):
        found |= RESUMING
    if _asks_a_model(path, method):
        found |= OF_MODELS
    found |= NEVER_CHANGED.get((method, path), {})
    return sorted(found.items())


def _asks_a_model(path: str, method: str) -> bool:
    return method == "post" and path.endswith(MODEL_ENDINGS)


def _refusal(status: int, text: str, path: str, method: str) -> JsonObject:
    name = {409: "Conflict", 422: "InvalidRequest", 501: "NotServed"}.get(status, "Refusal")
    schema: JsonObject = {"$ref": f"#/components/schemas/{name}"}
    if _asks_a_model(path, method) and status in PROVIDERS:
        schema = {"anyOf": [schema, {"$ref": "#/components/schemas/ProviderFailure"}]}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _streams(told: JsonObject, path: str) -> None:
    """Where a reply is a stream of events, or may be one."""
    told["description"] = "The run's messages; as server-sent events, each one line `data: {…}`, and `data: [DONE]` at the end."
    if path.endswith(STREAM_ENDING):
        told["content"] = {}
    told["content"]["text/event-stream"] = {"schema": TEXT}
