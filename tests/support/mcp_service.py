"""An MCP server on loopback by the official package, whose tools a test adds and removes. It notes the headers of each
request.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack
from typing import Any, Literal, Self

import uvicorn
from mcp.server.mcpserver import MCPServer

from hibernaut.local.server import address, listening

Message = MutableMapping[str, Any]


class McpService:
    """One server. `refuses`: the status with which it answers every request (0: none). `seen`: the headers of all requests."""

    def __init__(self, transport: Literal["streamable_http", "sse"] = "streamable_http", *, port: int = 0) -> None:
        self.server = MCPServer("birds", log_level="CRITICAL")
        self.refuses = 0
        self.seen: list[dict[str, str]] = []
        self.calls: list[str] = []
        self._listener = listening("127.0.0.1", port)
        app: Any = self.server.streamable_http_app() if transport == "streamable_http" else self.server.sse_app()
        self._app = app
        self.url = f"{address(self._listener)}/{'mcp' if transport == 'streamable_http' else 'sse'}"
        self._running = ExitStack()

    def tool(self, function: Callable[..., Any], **named: Any) -> None:
        """Add a tool."""
        self.server.add_tool(function, **named)

    def drop(self, name: str) -> None:
        """Remove a tool."""
        self.server.remove_tool(name)

    async def _noted(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["type"] == "http":
            self.seen.append({name.decode(): value.decode() for name, value in scope["headers"]})
            if self.refuses:
                headers = [(b"www-authenticate", b'Bearer error="invalid_token"'), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": self.refuses, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)

    def __enter__(self) -> Self:
        config = uvicorn.Config(self._noted, interface="asgi3", log_config=None, access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([self._listener],), daemon=True)
        self._running.callback(self._listener.close)
        self._running.callback(thread.join)
        self._running.callback(setattr, server, "should_exit", True)
        thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()
