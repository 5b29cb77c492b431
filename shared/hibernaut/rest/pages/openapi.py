"""Adds error replies and event streams to the OpenAPI description.

FastAPI derives parameters, bodies and successful replies from the routes. It does not know the table of errors, and describes a
422 of its own form. Knows the shape of an OpenAPI document and the bodies of `rest/http/errors.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

from fastapi import FastAPI

from hibernaut.schemas.base import JsonObject

METHODS = ("get", "post", "put", "patch", "delete")
TEXT = {"type": "string"}
STREAM_ENDING, MESSAGES_ENDING = "/stream", "/messages"
CHAT_ENDING = "/chat/completions"
MODEL_ENDINGS = (
    STREAM_ENDING,
    MESSAGES_ENDING,
    CHAT_ENDING,
    "/messages/async",
    "/summarize",
    "/compact",
    "/generate",
    "/generate-tool",
)
"""Endings of the paths whose POST calls a model. These routes may answer with a failure of the model's provider."""
PROVIDER_CHECKS = frozenset(
    (
        ("post", "/v1/providers/check"),
        ("post", "/v1/providers/{provider_id}/check"),
        ("patch", "/v1/providers/{provider_id}/refresh"),
    )
)
"""The routes that try the key of a provider. They may answer with a failure of the provider too."""
CONNECTIONS = frozenset((("get", "/v1/mcp-servers/connect/{mcp_server_id}"), ("post", "/v1/tools/mcp/servers/connect")))
"""The routes that connect to an MCP server, whose answer is a stream of events alone."""


def _object(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "required": list(properties), "properties": properties}


SCHEMAS: dict[str, JsonObject] = {
    "Refusal": {
        "title": "Refusal",
        "description": "`detail` says what is wrong, with which value, and what to do.",
        **_object(detail=TEXT),
    },
    "InvalidRequest": {
        "title": "InvalidRequest",
        "description": "`detail` is the list of errors as one text.",
        **_object(detail=TEXT),
    },
    "Conflict": {
        "title": "Conflict",
        "description": "`run_id`: the run that holds the conversation. If `detail` is an object, it names the pending approval. "
        "`code`: `agent_paused`, or `version_conflict` with the `current_version`, or `erasure_running` with the `erasure_id`.",
        "type": "object",
        "required": ["detail"],
        "properties": {
            "detail": {"anyOf": [TEXT, _object(code=TEXT, message=TEXT, pending_request_id=TEXT)]},
            "run_id": {"anyOf": [TEXT, {"type": "null"}]},
            "code": TEXT,
            "current_version": {"type": "integer"},
            "erasure_id": TEXT,
        },
    },
    "Failure": {
        "title": "Failure",
        "description": "`code`: `record_lost`, if the stored content of a record is missing.",
        "type": "object",
        "required": ["detail"],
        "properties": {"detail": TEXT, "code": TEXT},
    },
    "Unavailable": {
        "title": "Unavailable",
        "description": "`code`: `run_unreadable`, if the message was accepted and its run goes on: `run_id` names it, and the "
        "request must not be repeated.",
        "type": "object",
        "required": ["detail"],
        "properties": {"detail": TEXT, "code": TEXT, "run_id": TEXT},
    },
    "OverBudget": {
        "title": "OverBudget",
        "description": "`budget` is the exhausted limit, `subject` its owner, `resets_at` the time at which its period begins again.",
        **_object(detail=TEXT, code=TEXT, budget=TEXT, subject=TEXT, resets_at={"anyOf": [TEXT, {"type": "null"}]}),
    },
    "NotServed": {
        "title": "NotServed",
        "description": "`code` and `route` name a route of Letta V1 that this server does not serve.",
        "type": "object",
        "required": ["detail"],
        "properties": {"detail": TEXT, "code": TEXT, "route": TEXT},
    },
    "McpRefusal": {
        "title": "McpRefusal",
        "description": "`detail` is an object if an MCP server cannot be reached: `error` is the reason.",
        **_object(detail={"anyOf": [TEXT, _object(code=TEXT, message=TEXT, error=TEXT, server_name=TEXT)]}),
    },
    "ProviderFailure": {
        "title": "ProviderFailure",
        "description": "The provider failed or refused the request.",
        **_object(error=_object(type=TEXT, message=TEXT, detail=TEXT)),
    },
}
SCHEMAS["InvalidRequest"]["properties"] |= {"trace_id": TEXT, "examples": {"type": "array", "items": TEXT}}

SECURITY: dict[str, JsonObject] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key. Optional on a server without keys."},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
EVERYWHERE = {
    400: "A value is invalid",
    401: "The API key is missing or cannot be used; the header `WWW-Authenticate` says why",
    403: "The scope of the API key does not suffice, or the host or the web page may not call this server",
    404: "The resource does not exist",
    429: "A budget is used up; `Retry-After` says when it begins again",
    500: "A defect of the server, whose log names the line of code; or the content of a record is lost (`record_lost`)",
    503: "The queue is full, the table is out of reach, or the server stops; `Retry-After` says when to repeat the request",
}
WITH_INPUT = {422: "The request does not match its schema"}
CHANGING = {
    409: "The current state does not allow the operation",
    413: "The body is too large",
    501: "This deployment lacks a part that the request needs",
}
UPLOADING = {415: "A file of this type cannot be read"}
_APPEND_ONLY = {405: "A message cannot be changed: logs are append-only"}
NEVER_CHANGED = {
    ("patch", "/v1/agents/{agent_id}/messages/{message_id}"): _APPEND_ONLY,
    ("patch", "/v1/groups/{group_id}/messages/{message_id}"): _APPEND_ONLY,
}
"""Routes of V1 that always answer an error."""
RESUMING = {410: "The events of the run are deleted: it ended more than 24 hours ago, or its first event is older than 48 hours"}
VERSION_ENDINGS = ("/versions", "/versions/{version}", "/versions/{version}/diff", "/rollback", "/past", "/{agent_id}/fork")
EXPIRED = {410: "The version is no longer retained, or was never recorded"}
OF_MODELS = {
    401: "The API key is missing or cannot be used, or the provider did not accept its own key",
    402: "The account at the provider has no credit",
    403: "The provider, the scope of the API key or the origin of the web page does not permit the request",
    429: "The provider limits the rate of requests",
    504: "The provider did not answer in time",
}
PROVIDERS = frozenset({400, 401, 402, 403, 404, 429, 500, 503, 504})
"""Statuses whose body may describe a failure of the provider."""

MCP_PATHS = ("/v1/mcp-servers", "/v1/tools/mcp/servers")
"""Beginnings of the paths that reach MCP servers."""
_building = Lock()
"""Held while a description is built: FastAPI stores it before it is complete."""


class DescribedApi(FastAPI):
    """An app whose OpenAPI description contains error replies and event streams."""

    def openapi(self) -> JsonObject:
        """The whole description. It is built once, which takes seconds of CPU time. Thread-safe."""
        with _building:
            is_new = self.openapi_schema is None
            document: JsonObject = super().openapi()
            if is_new:
                _describe(document)
            return document


def _describe(document: JsonObject) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas |= SCHEMAS
    document["components"]["securitySchemes"] = SECURITY
    document["security"] = [{}, *({name: []} for name in SECURITY)]
    for path, method, operation in _operations(document):
        responses = {status: response for status, response in operation["responses"].items() if status < "400"}
        if method == "post" and path.endswith((STREAM_ENDING, MESSAGES_ENDING, CHAT_ENDING)):
            for response in responses.values():
                _describe_stream(response, path)
        if (method, path) in CONNECTIONS:
            for response in responses.values():
                response["description"] = "Server-sent events, each one line `data: {…}` with its name in `event`."
                response["content"] = {"text/event-stream": {"schema": TEXT}}
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
    if path.endswith(VERSION_ENDINGS):
        found |= EXPIRED
    if _asks_a_provider(path, method):
        found |= OF_MODELS
    found |= NEVER_CHANGED.get((method, path), {})
    return sorted(found.items())


def _asks_a_provider(path: str, method: str) -> bool:
    return (method == "post" and path.endswith(MODEL_ENDINGS)) or (method, path) in PROVIDER_CHECKS


def _refusal(status: int, text: str, path: str, method: str) -> JsonObject:
    names = {409: "Conflict", 422: "InvalidRequest", 429: "OverBudget", 500: "Failure", 501: "NotServed", 503: "Unavailable"}
    name = names.get(status, "Refusal")
    if status == 404 and path.startswith(MCP_PATHS):
        name = "McpRefusal"
    schema: JsonObject = {"$ref": f"#/components/schemas/{name}"}
    if _asks_a_provider(path, method) and status in PROVIDERS:
        schema = {"anyOf": [schema, {"$ref": "#/components/schemas/ProviderFailure"}]}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _describe_stream(response: JsonObject, path: str) -> None:
    """Describe a reply that is a stream of events, or may be one."""
    response["description"] = (
        "The run's messages; as server-sent events, each one line `data: {…}`, and `data: [DONE]` at the end."
    )
    if path.endswith(STREAM_ENDING):
        response["content"] = {}
    response["content"]["text/event-stream"] = {"schema": TEXT}
