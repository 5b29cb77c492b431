"""The WebSocket API: holds connections, and invokes the template's integrations for what happens on them.

Knows: API Gateway's WebSocket resources in the template, the events of a proxy integration, and ASGI. Must not know: the
messages. Its address is the path `/v1/ws` of the gateway. The quotas of two hours and of ten idle minutes are not emulated.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from hibernaut.local.aws_offline.api_gateway.streams import Message, Send
from hibernaut.local.aws_offline.lambdas import Lambdas, Reply
from hibernaut.local.aws_offline.resources import Resource
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.schemas.base import JsonObject

PATH = "/v1/ws"
INTEGRATION_SECONDS = 29.0
AT_ONCE = 64
"""The number of concurrent invocations."""
PROTOCOL_HEADER = "sec-websocket-protocol"
_LAMBDA = re.compile(r":lambda:path/[0-9-]+/functions/(.+)/invocations$")


class SocketGateway:
    """An ASGI app for WebSockets. The connections of a template without a WebSocket API are refused."""

    def __init__(self, stack: Stack, lambdas: Lambdas) -> None:
        self._lambdas = lambdas
        apis = stack.of_type("AWS::ApiGatewayV2::Api")
        self._api = apis[0].ref if apis else ""
        self._functions = _routes(stack)
        self._stages = [one.ref for one in stack.of_type("AWS::ApiGatewayV2::Stage")]
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="socket gateway")
        self._open: dict[str, _OpenSocket] = {}

    def close_all(self) -> None:
        """Stop invoking."""
        self._threads.shutdown(wait=False)

    def connections(self) -> list[str]:
        """The ids of the open connections."""
        return list(self._open)

    def post(self, connection_id: str, data: bytes) -> bool:
        """Send a message to a connection; False if it is gone."""
        connection = self._open.get(connection_id)
        return connection is not None and connection.do(connection.socket.send_text(data.decode()))

    def close(self, connection_id: str) -> bool:
        """Close a connection; False if it is gone."""
        connection = self._open.pop(connection_id, None)
        return connection is not None and connection.do(connection.socket.close(1000))

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        await socket.receive()
        if scope["path"] != PATH or not self._stages:
            await socket.send_denial_response(Response(status_code=403))
            return
        about = self._about(socket)
        answer = await self._invoke("$connect", {**_headers(socket), **_query(socket)}, {**about, "eventType": "CONNECT"})
        status = 502 if answer.failed else int((answer.payload or {}).get("statusCode", 502))
        if not 200 <= status < 300:
            await socket.send_denial_response(Response(status_code=status))
            return
        headers = {name.lower(): value for name, value in (answer.payload.get("headers") or {}).items()}
        connection = _OpenSocket(socket, asyncio.get_running_loop())
        self._open[about["connectionId"]] = connection
        await socket.accept(headers.get(PROTOCOL_HEADER))
        try:
            await self._serve(socket, about)
        finally:
            self._open.pop(about["connectionId"], None)
            end = {"disconnectStatusCode": 1005, "disconnectReason": ""}
            with suppress(RuntimeError):  # the emulation has ended
                await self._invoke("$disconnect", _headers(socket), {**about, "eventType": "DISCONNECT", **end})

    async def _serve(self, socket: WebSocket, about: JsonObject) -> None:
        """Invoke the function for each message; messages do not wait for each other."""
        under_way: set[asyncio.Future[None]] = set()
        try:
            while True:
                message = await socket.receive()
                if message["type"] != "websocket.receive":
                    return
                task = asyncio.ensure_future(self._handle_message(socket, about, message))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        except (WebSocketDisconnect, RuntimeError):
            return

    async def _handle_message(self, socket: WebSocket, about: JsonObject, message: Message) -> None:
        text = message.get("text")
        body = {"body": text, "isBase64Encoded": False} if text is not None else {"body": "AA==", "isBase64Encoded": True}
        context = {**about, "eventType": "MESSAGE", "messageId": uuid.uuid4().hex[:16]}
        answer = await self._invoke("$default", body, context)
        if answer.failed or not isinstance(answer.payload, dict) or "statusCode" not in answer.payload:
            names = {"connectionId": about["connectionId"], "requestId": context["messageId"]}
            await socket.send_text(json.dumps({"message": "Internal server error", **names}))

    async def _invoke(self, route: str, event: JsonObject, context: JsonObject) -> Reply:
        now = datetime.now(UTC)
        times = {"requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000"), "requestTimeEpoch": int(now.timestamp() * 1000)}
        names = {"routeKey": route, "requestId": uuid.uuid4().hex[:16], "extendedRequestId": uuid.uuid4().hex[:16]}
        whole = {"isBase64Encoded": False, **event, "requestContext": {**context, **times, **names, "messageDirection": "IN"}}
        call = self._lambdas.invoke
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: call(self._functions[route], whole, timeout=INTEGRATION_SECONDS))

    def _about(self, socket: WebSocket) -> JsonObject:
        """What every event of the connection says of it."""
        return {
            "connectionId": uuid.uuid4().hex[:15] + "=",
            "connectedAt": int(time.time() * 1000),
            "apiId": self._api,
            "stage": self._stages[0],
            "domainName": socket.headers.get("host", ""),
            "identity": {"sourceIp": socket.client.host if socket.client else "", "userAgent": socket.headers.get("user-agent")},
        }


class _OpenSocket:
    """An open connection, and the loop that serves it."""

    def __init__(self, socket: WebSocket, loop: asyncio.AbstractEventLoop) -> None:
        self.socket = socket
        self._loop = loop

    def do(self, work: Awaitable[None]) -> bool:
        """Do the work on the loop; False if the client is gone."""

        async def done() -> None:
            await work

        try:
            asyncio.run_coroutine_threadsafe(done(), self._loop).result()
        except (WebSocketDisconnect, RuntimeError):
            return False
        return True


def _routes(stack: Stack) -> dict[str, str]:
    """The function of each route."""
    targets = {f"integrations/{one.ref}": _function(one) for one in stack.of_type("AWS::ApiGatewayV2::Integration")}
    routes = stack.of_type("AWS::ApiGatewayV2::Route")
    return {one.properties["RouteKey"]: targets[one.properties["Target"]] for one in routes}


def _function(integration: Resource) -> str:
    address = _LAMBDA.search(integration.properties["IntegrationUri"])
    if address is None or integration.properties["IntegrationType"] != "AWS_PROXY":
        raise ValueError(f"not a Lambda integration: {integration.name}")
    return address[1]


def _headers(socket: WebSocket) -> JsonObject:
    several: dict[str, list[str]] = {}
    for name, value in socket.headers.items():
        several.setdefault(name.title(), []).append(value)
    return {"headers": {name: values[-1] for name, values in several.items()}, "multiValueHeaders": several}


def _query(socket: WebSocket) -> JsonObject:
    found = parse_qs(socket.url.query, keep_blank_values=True)
    single = {name: values[-1] for name, values in found.items()}
    return {"queryStringParameters": single, "multiValueQueryStringParameters": found} if found else {}
