"""Functions that serve HTTP as a stream: their ASGI app runs on an event loop of this process.

Knows: ASGI, and how Lambda treats response streaming. Must not know: the gateway's routes, or what the app does. Of the Lambda
Web Adapter, which on AWS converts events to requests, only the headers with the contexts are emulated.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.lambdas import Lambdas
from hibernaut.schemas.base import JsonObject

CONTEXTS = ("x-amzn-request-context", "x-amzn-lambda-context")
"""The headers in which the adapter passes the contexts of the gateway and of Lambda as JSON
(github.com/awslabs/aws-lambda-web-adapter, "Lambda Context" and "Request Context").
"""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Broken(Exception):
    """The function died, or reached its time limit, before its response was complete."""


class Streams:
    """The streaming functions. Use one object for each event loop, because unfinished calls remain on the loop."""

    def __init__(self, lambdas: Lambdas) -> None:
        self._lambdas = lambdas
        self._abandoned: set[asyncio.Future[None]] = set()

    async def ask(self, function: str, request: GatewayRequest, receive: Receive, send: Send, *, seconds: float) -> None:
        """Answer the request, chunk by chunk. After the body, `receive` is awaited for the client's disconnect. Raises:
        Broken.
        """
        loop, death = asyncio.get_running_loop(), asyncio.Event()
        body = iter([request.body])

        async def received() -> Message:
            for whole in body:
                return {"type": "http.request", "body": whole, "more_body": False}
            return await receive()

        async def sent(message: Message) -> None:
            if not death.is_set():
                await send(message)

        with self._lambdas.served(function, lambda: loop.call_soon_threadsafe(death.set)):
            reply = asyncio.ensure_future(self._app(function)(_scope(request), received, sent))
        died = asyncio.ensure_future(death.wait())
        limit = min(seconds, self._lambdas.of(function).timeout)
        done, _ = await asyncio.wait({reply, died}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        died.cancel()
        if reply in done:
            return reply.result()
        death.set()
        self._leave(reply)
        raise Broken(function)

    def _app(self, function: str) -> App:
        """The app that the function serves: `app` in its folder creates it."""
        folder = self._lambdas.of(function).folder
        injected: App | None = self._lambdas.deps.get(folder)  # type: ignore[assignment]
        app: App = injected or importlib.import_module(f"functions.{folder}.handler").app()
        return app

    def _leave(self, reply: asyncio.Future[None]) -> None:
        """Leave an abandoned call running; its result is ignored."""
        self._abandoned.add(reply)

        def forget(future: asyncio.Future[None]) -> None:
            self._abandoned.discard(future)
            if not future.cancelled():
                future.exception()

        reply.add_done_callback(forget)


def with_contexts(request: GatewayRequest, context: JsonObject) -> GatewayRequest:
    """The request with the adapter's headers, in place of any that a client sends under these names. `context`: the gateway's."""
    values = json.dumps(context), json.dumps({"request_id": str(uuid.uuid4())})
    own = [pair for pair in request.headers if pair[0].lower() not in CONTEXTS]
    return replace(request, headers=[*own, *zip(CONTEXTS, values, strict=True)])


def _scope(request: GatewayRequest) -> Message:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path),
        "raw_path": request.path.encode("ascii"),
        "root_path": "",
        "query_string": request.query.encode("ascii"),
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 8080),
    }
