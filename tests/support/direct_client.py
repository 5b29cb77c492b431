"""Requests to an ASGI application without a connection, for properties that send thousands of them.

    with TestClient(app) as client:
        DirectClient(app, client).request("GET", "/v1/agents", headers=headers)    an `httpx.Response`

Starlette's test client takes 2 ms of CPU time for each request, most of it for cookies, streams and hooks of httpx. This one
calls the application in the event loop of that client, whose `with` starts and stops the application. It knows ASGI; must not
know any route.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import httpx
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

CALLER = ("testclient", 50000)
"""Host and port of the caller, as Starlette's test client has them."""


class DirectClient:
    """The part of httpx's client that properties use. It keeps no cookies. An exception of the application is raised here."""

    def __init__(self, app: ASGIApp, started: TestClient) -> None:
        self._app = app
        self._started = started
        self._origin = str(started.base_url).rstrip("/")
        self._headers = dict(started.headers)  # with a user agent: the server answers clients of some versions otherwise

    def request(self, method: str, url: str, *, headers: Mapping[str, str] = {}, **options: Any) -> httpx.Response:
        """Send the request and return its answer, also one that redirects. `url`: path and query. `options`: those of
        `httpx.Request`.
        """
        request = httpx.Request(method, self._origin + url, headers={**self._headers, **headers}, **options)
        portal = self._started.portal
        assert portal is not None, "the test client is not started"
        exchange = _Exchange(request.read())
        portal.call(self._app, self._scope(request), exchange.receive, exchange.send)
        return httpx.Response(exchange.status, headers=exchange.headers, content=exchange.body, request=request)

    def _scope(self, request: httpx.Request) -> Mapping[str, Any]:
        url = request.url
        path, _, query = url.raw_path.partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": CALLER,
            "server": (url.host, url.port or 80),
            "state": self._started.app_state.copy(),
        }


class _Exchange:
    """The body of one request, and what the application answers. The caller stays until the answer is complete."""

    def __init__(self, content: bytes) -> None:
        self._content: bytes | None = content
        self._complete = asyncio.Event()
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def receive(self) -> Message:
        if self._content is not None:
            content, self._content = self._content, None
            return {"type": "http.request", "body": content, "more_body": False}
        await self._complete.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                self._complete.set()
