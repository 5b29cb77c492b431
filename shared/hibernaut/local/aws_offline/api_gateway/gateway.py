"""The gateway: finds the template's method for each request, calls the function behind it, and makes the template's gateway
responses.

Knows: API Gateway's resources in the template, its limits, and ASGI. Must not know: the routes of the app.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import NamedTuple

from hibernaut.local.aws_offline.api_gateway.gateway_events import (
    GatewayRequest,
    GatewayResponse,
    Headers,
    MalformedReply,
    event_of,
    response_of,
)
from hibernaut.local.aws_offline.api_gateway.routes import Route, Routes
from hibernaut.local.aws_offline.api_gateway.socket_gateway import SocketGateway
from hibernaut.local.aws_offline.api_gateway.streams import Broken, Message, Send, Streams, with_contexts
from hibernaut.local.aws_offline.lambdas import PAYLOAD_LIMIT, Lambdas, Reply
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.schemas.base import JsonObject

BODY_LIMIT = 10 * 1024 * 1024
"""The largest body that API Gateway accepts in bytes; Lambda's own limit for the whole event is lower."""
GATEWAY_THREADS = 64
"""The number of concurrent buffered requests. Each has an event loop of its own, as each Lambda environment has; they share one
app.
"""
_LAMBDA = re.compile(r":lambda:path/[0-9-]+/functions/(.+)/(?:response-streaming-)?invocations$")


class Way(NamedTuple):
    """The target of a request."""

    route: Route
    function: str
    seconds: float
    streams: bool


class OfflineGateway:
    """An ASGI app. Methods and gateway responses come from the loaded template."""

    def __init__(self, stack: Stack, lambdas: Lambdas, sockets: SocketGateway) -> None:
        self._sockets = sockets
        (api,) = stack.of_type("AWS::ApiGateway::RestApi")
        (stage,) = stack.of_type("AWS::ApiGateway::Stage")
        self._lambdas = lambdas
        self._binary = api.properties.get("BinaryMediaTypes", [])
        self._stage = stage.ref
        paths = {f"{api.ref}-root": "/"}
        for part in stack.of_type("AWS::ApiGateway::Resource"):
            parent = paths[part.properties["ParentId"]].rstrip("/")
            paths[part.ref] = f"{parent}/{part.properties['PathPart']}"
        self._routes = Routes(paths.values())
        self._methods = {
            (paths[method.properties["ResourceId"]], method.properties["HttpMethod"]): method.properties["Integration"]
            for method in stack.of_type("AWS::ApiGateway::Method")
        }
        self._refusals = {
            refusal.properties["ResponseType"]: refusal.properties
            for refusal in stack.of_type("AWS::ApiGateway::GatewayResponse")
        }
        self._threads = ThreadPoolExecutor(GATEWAY_THREADS, thread_name_prefix="gateway")
        self._streams = Streams(lambdas)

    def answer(self, request: GatewayRequest) -> GatewayResponse:
        """The final response to a request, including gateway responses. A broken stream is a 502 here."""
        way = self._way(request)
        if isinstance(way, GatewayResponse):
            return way
        if not way.streams:
            return self._whole(way, request)
        return self._own.ask(self._collected(way, request))

    def close(self) -> None:
        """Stop answering requests."""
        self._threads.shutdown(wait=False)
        if "_own" in self.__dict__:
            self._own.close()

    @cached_property
    def _own(self) -> _Loop:
        return _Loop()

    def route_of(self, path: str) -> Route | None:
        """The resource for a path, or None."""
        return self._routes.of(path)

    def _way(self, request: GatewayRequest) -> Way | GatewayResponse:
        route = self.route_of(request.path)
        methods = [self._methods.get((route.resource, method)) for method in (request.method, "ANY")] if route else []
        integration = next((one for one in methods if one is not None), None)
        if route is None or integration is None:
            return self._refusal("MISSING_AUTHENTICATION_TOKEN", 403)
        if len(request.body) > BODY_LIMIT:
            return self._refusal("REQUEST_TOO_LARGE", 413)
        address = _LAMBDA.search(integration["Uri"])
        if address is None:
            raise ValueError(f"not a Lambda integration: {integration['Uri']}")
        streams = integration.get("ResponseTransferMode") == "STREAM"
        return Way(route, address[1], integration["TimeoutInMillis"] / 1000, streams)

    def _event(self, way: Way, request: GatewayRequest) -> JsonObject:
        return event_of(request, way.route, stage=self._stage, binary=self._binary)

    def _whole(self, way: Way, request: GatewayRequest) -> GatewayResponse:
        return self._outcome(self._lambdas.invoke(way.function, self._event(way, request), timeout=way.seconds), request)

    async def _stream(self, way: Way, request: GatewayRequest, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        """Forward the response as it arrives. Raises: Broken if it ends too early."""
        begun = False

        async def passed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        event = self._event(way, request)
        if len(json.dumps(event)) > PAYLOAD_LIMIT:
            return await _send(self._refusal("REQUEST_TOO_LARGE", 413), send)
        invocation = with_contexts(request, event["requestContext"])
        try:
            await self._streams.ask(way.function, invocation, receive, passed, seconds=way.seconds)
        except Broken:
            if begun:
                raise
            await _send(self._refusal("DEFAULT_5XX", 502), send)

    async def _collected(self, way: Way, request: GatewayRequest) -> GatewayResponse:
        messages: list[Message] = []

        async def send(message: Message) -> None:
            messages.append(message)

        try:
            await self._stream(way, request, _never, send)
        except Broken:
            return self._refusal("DEFAULT_5XX", 502)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in messages[0]["headers"]]
        return GatewayResponse(messages[0]["status"], headers, b"".join(message.get("body", b"") for message in messages[1:]))

    def _outcome(self, reply: Reply, request: GatewayRequest) -> GatewayResponse:
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

    def _refusal(self, kind: str, status: int) -> GatewayResponse:
        written = self._refusals.get(kind, {})
        body = written.get("ResponseTemplates", {}).get("application/json", json.dumps({"message": None}))
        marks = written.get("ResponseParameters", {})
        headers = [(name.removeprefix("gatewayresponse.header."), str(value).strip("'")) for name, value in marks.items()]
        return GatewayResponse(
            int(written.get("StatusCode", status)), [("content-type", "application/json"), *headers], body.encode()
        )

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        if scope["type"] == "websocket":
            await self._sockets(scope, receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"API Gateway does not take {scope['type']}")
        request = await _request(scope, receive)
        way = self._way(request)
        if isinstance(way, Way) and way.streams:
            # On AWS the function is not notified of a client's disconnect; here it would only keep running.
            await self._stream(way, request, receive, send)
            return
        if isinstance(way, Way):
            way = await asyncio.get_running_loop().run_in_executor(self._threads, self._whole, way, request)
        await _send(way, send, empty=request.method == "HEAD")


class _Loop:
    """An event loop on a thread of its own, for callers that block a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="streams")
        self._thread.start()

    def ask(self, question: Coroutine[None, None, GatewayResponse]) -> GatewayResponse:
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(_ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _ended() -> None:
    """Cancel all tasks of this loop."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _never() -> Message:
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


async def _send(response: GatewayResponse, send: Send, *, empty: bool = False) -> None:
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
    length = (b"content-length", str(len(response.body)).encode())
    headers = [pair for pair in headers if pair[0] not in (b"content-length", b"transfer-encoding")]
    await send({"type": "http.response.start", "status": response.status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": b"" if empty else response.body})


async def _request(scope: Message, receive: Callable[[], Awaitable[Message]]) -> GatewayRequest:
    body = b""
    while True:
        message = await receive()
        # An oversized body is read and discarded, because a client reads the response only after it has sent the body.
        body += message.get("body", b"") if len(body) <= BODY_LIMIT else b""
        if not message.get("more_body"):
            break
    headers: Headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    headers.append(("X-Forwarded-Proto", scope["scheme"]))  # Clients reach the API itself only by https, and the header says so.
    path = scope["raw_path"].decode("ascii").split("?")[0]
    return GatewayRequest(scope["method"], path, scope["query_string"].decode("ascii"), headers, body)
