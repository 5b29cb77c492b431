"""API Gateway's proxy events: converts a request to an event, and a handler's reply to a response.

Knows: the REST gateway's wire format (payload format 1.0). Must not know: routes, functions or servers.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from hibernaut.local.aws_offline.api_gateway.routes import Route
from hibernaut.local.aws_offline.place import ACCOUNT
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

Headers = list[tuple[str, str]]


@immutable
class GatewayRequest:
    """An HTTP request. `path` is unchanged, without the query."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes
    source: str = "127.0.0.1"

    def header(self, name: str) -> str:
        """The first value of a header, whose name is given in lower case; "" without it."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@immutable
class GatewayResponse:
    """An HTTP response."""

    status: int
    headers: Headers
    body: bytes


class MalformedReply(Exception):
    """The handler's reply is not a proxy response; the gateway answers 502."""


def event_of(request: GatewayRequest, route: Route, *, stage: str, binary: Sequence[str]) -> JsonObject:
    """The event of a proxy integration. `binary`: the media types that are passed on as base64."""
    query = parse_qsl(request.query, keep_blank_values=True)
    is_binary = _media_type(request.header("content-type")) in binary
    text = base64.b64encode(request.body).decode() if is_binary else request.body.decode("utf-8", errors="replace")
    return {
        "resource": route.resource,
        "path": request.path,
        "httpMethod": request.method,
        "headers": dict(request.headers) or None,
        "multiValueHeaders": _grouped(request.headers) or None,
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": _grouped(query) or None,
        "pathParameters": route.parameters or None,
        "stageVariables": None,
        "requestContext": _context(request, route.resource, stage),
        "body": text or None,
        "isBase64Encoded": is_binary and bool(text),
    }


def _context(request: GatewayRequest, resource: str, stage: str) -> JsonObject:
    now = datetime.now(UTC)
    return {
        "accountId": ACCOUNT,
        "apiId": "offline",
        "domainName": request.header("host"),
        "domainPrefix": "offline",
        "extendedRequestId": uuid.uuid4().hex[:16],
        "httpMethod": request.method,
        "identity": {"sourceIp": request.source, "userAgent": request.header("user-agent") or None},
        "path": request.path,  # without the stage, as for a custom domain
        "protocol": "HTTP/1.1",
        "requestId": str(uuid.uuid4()),
        "requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "requestTimeEpoch": int(now.timestamp() * 1000),
        "resourcePath": resource,
        "stage": stage,
    }


def response_of(reply: Json, accept: str, binary: Sequence[str]) -> GatewayResponse:
    """The response of a proxy integration. Raises: MalformedReply."""
    if not isinstance(reply, dict) or not isinstance(reply.get("statusCode"), int):
        raise MalformedReply
    several = reply.get("multiValueHeaders") or {}
    headers = [(name, str(value)) for name, values in several.items() for value in values]
    headers += [(name, str(value)) for name, value in (reply.get("headers") or {}).items() if name not in several]
    body = reply.get("body") or ""
    # The gateway decodes base64 only for clients that accept the media type; others get the base64 text.
    decoded = reply.get("isBase64Encoded") and (_media_type(accept) in binary or "*/*" in binary)
    return GatewayResponse(reply["statusCode"], headers, base64.b64decode(body) if decoded else body.encode())


def _grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in pairs:
        grouped.setdefault(name, []).append(value)
    return grouped


def _media_type(value: str) -> str:
    return value.split(",")[0].split(";")[0].strip().lower()
