"""Answers requests for the console's files before they are authenticated and routed: a first view has about twenty, and the API
hundreds of routes.

Plain ASGI. Knows the console's place; must not know its files.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.http.middleware import CONSOLE

PLACE = f"{CONSOLE}/"
READING = ("GET", "HEAD")


class ConsoleSite:
    """Answers what is read below `/console/`. Everything else goes to the app."""

    def __init__(self, app: ASGIApp, pools: ThreadPools) -> None:
        self._app = app
        self._pools = pools

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in READING or not scope["path"].startswith(PLACE):
            return await self._app(scope, receive, send)
        from hibernaut.rest.pages import console_files  # a Lambda function of the API seldom serves a file

        if not console_files.are_read():
            await self._pools.look(console_files.digest)
        response = console_files.answer(scope["path"].removeprefix(PLACE), Headers(scope=scope))
        return await response(scope, receive, send)
