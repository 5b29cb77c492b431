"""The gateway: for each request the method that the template has for its path, the real handler behind it, and the template's refusals.

Knows: API Gateway's resources in the template, its limits, and ASGI. Must not know: the routes of the app.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hibernaut.local.aws_offline.gateway_events import Headers, MalformedReply, Request, Response, event_of, response_of
from hibernaut.local.aws_offline.lambdas import Lambdas, Reply
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.schemas.base import JsonObject

BODY_LIMIT = 10 * 1024 * 1024
"""Bytes that API Gateway takes at all; Lambda's own limit, which every event must fit, is nearer."""
AT_ONCE = 16
"""Requests in flight. Each has an event loop of its own, as each environment of Lambda has, but they share one app: so few
of them never reach its limits on threads, whose waiting lists belong to one loop."""
_LAMBDA = re.compile(r":lambda:path/2015-03-31/functions/(.+)/invocations$")

Message = MutableMapping[str, Any]


class Gateway:
    """An ASGI app. Methods and refusals come from the loaded template."""

    def __init__(self, stack: Stack, lambdas: Lambdas) -> None:
        (api,) = stack.of_type("AWS::ApiGateway::RestApi")
        (stage,) = stack.of_type("AWS::ApiGateway::Stage")
        self._lambdas = lambdas
        self._binary = api.properties.get("BinaryMediaTypes", [])
        self._stage = stage.ref
        self._paths = {f"{api.ref}-root": "/"}
        for part in stack.of_type("AWS::ApiGateway::Resource"):
            parent = self._paths[part.properties["ParentId"]].rstrip("/")
            self._paths[part.ref] = f"{parent}/{part.properties['PathPart']}"
        self._methods = {
            (self._paths[method.properties["ResourceId"]], method.properties["HttpMethod"]): method.properties["Integration"]
            for method in stack.of_type("AWS::ApiGateway::Method")
        }
        self._refusals = {
            refusal.properties["ResponseType"]: refusal.properties
            for refusal in stack.of_type("AWS::ApiGateway::GatewayResponse")
        }
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="gateway")

    def answer(self, request: Request) -> Response:
        """What the gateway answers to a request, refusals included."""
        resource = "/" if request.path.strip("/") == "" else "/{proxy+}"
        integration = self._methods.get((resource, "ANY")) or self._methods.get((resource, request.method))
        if integration is None:
            return self._refusal("MISSING_AUTHENTICATION_TOKEN", 403)
        if len(request.body) > BODY_LIMIT:
            return self._refusal("REQUEST_TOO_LARGE", 413)
        event = event_of(request, resource=resource, stage=self._stage, binary=self._binary)
        return self._outcome(self._invoke(integration, event), request)

    def _invoke(self, integration: JsonObject, event: JsonObject) -> Reply:
        address = _LAMBDA.search(integration["Uri"])
        if address is None:
            raise ValueError(f"not a Lambda integration: {integration['Uri']}")
        return self._lambdas.invoke(address[1], event, timeout=integration["TimeoutInMillis"] / 1000)

    def _outcome(self, reply: Reply, request: Request) -> Response:
        match reply.error:
            case None:
                try:
                    return response_of(reply.payload, request.header("accept"), self._binary)
                except MalformedReply:
                    return self._refusal("DEFAULT_5XX", 502)
            case "RequestEntityTooLargeException":
                return self._refusal("REQUEST_TOO_LARGE", 413)
            case "Sandbox.Timedout":
                return self._refusal("INTEGRATION_TIMEOUT", 504)
            case _:
                return self._refusal("DEFAULT_5XX", 502)

    def _refusal(self, kind: str, status: int) -> Response:
        written = self._refusals.get(kind, {})
        body = written.get("ResponseTemplates", {}).get("application/json", json.dumps({"message": None}))
        marks = written.get("ResponseParameters", {})
        headers = [(name.removeprefix("gatewayresponse.header."), str(value).strip("'")) for name, value in marks.items()]
        return Response(int(written.get("StatusCode", status)), [("content-type", "application/json"), *headers], body.encode())

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http":
            raise ValueError(f"API Gateway does not take {scope['type']}")
        request = await _request(scope, receive)
        response = await asyncio.get_running_loop().run_in_executor(self._threads, self.answer, request)
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
        length = (b"content-length", str(len(response.body)).encode())
        headers = [pair for pair in headers if pair[0] not in (b"content-length", b"transfer-encoding")]
        await send({"type": "http.response.start", "status": response.status, "headers": [*headers, length]})
        await send({"type": "http.response.body", "body": response.body if request.method != "HEAD" else b""})


async def _request(scope: Message, receive: Callable[[], Awaitable[Message]]) -> Request:
    body = b""
    while True:
        message = await receive()
        # What is too much already is read on, and dropped: the client hears the refusal only when it has sent all.
        body += message.get("body", b"") if len(body) <= BODY_LIMIT else b""
        if not message.get("more_body"):
            break
    headers: Headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    path = scope["raw_path"].decode("ascii").split("?")[0]
    return Request(scope["method"], path, scope["query_string"].decode("ascii"), headers, body)
