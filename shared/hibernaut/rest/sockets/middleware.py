"""Passes WebSockets to their endpoint, which is imported at the first one, and everything else to the app."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from hibernaut.rest.access.origin_policy import OriginPolicy

if TYPE_CHECKING:
    from hibernaut.rest.sockets.endpoint import SocketEndpoint


class WebSockets:
    """The outermost layer of the app: what is no HTTP request does not reach the others. `owner`: the app itself."""

    def __init__(self, app: ASGIApp, owner: FastAPI, policy: OriginPolicy) -> None:
        self._app = app
        self._owner = owner
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._endpoint(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    @cached_property
    def _endpoint(self) -> SocketEndpoint:
        from hibernaut.rest.sockets.endpoint import SocketEndpoint  # a function that serves HTTP alone never imports it

        return SocketEndpoint(self._owner, self._policy)
