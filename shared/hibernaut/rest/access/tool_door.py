"""The door for tools: a port of this machine on which no request is served without a token or a key.

The cage of a tool leads its connections to the server's port here (`adapters.tool_runner.cage.connections`), so that a server
without keys, which serves everybody on its machine, does not serve its tools as somebody. Plain ASGI.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

TOOL_DOOR = "tool_door"
"""Where the state of a request says that it came in here."""


class ToolDoor:
    """Marks what comes in by one port. WebSockets are refused there."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (scope.get("server") or ("", None))[1] == self._port:
            if scope["type"] == "websocket":
                await WebSocketClose(code=1008)(scope, receive, send)
                return
            scope.setdefault("state", {})[TOOL_DOOR] = True
        await self._app(scope, receive, send)
