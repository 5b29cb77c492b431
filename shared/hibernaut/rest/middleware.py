"""What surrounds every request: one spelling for its path, a limit for its body, and an answer also to what nobody foresaw.

Plain ASGI. Knows paths, sizes and exceptions; must not know any route.
"""

from __future__ import annotations

from fastapi import HTTPException
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hibernaut.rest.errors import unknown_error

MEBIBYTE = 1024 * 1024
LATEST, CURRENT = "/latest", "/v1"
UPLOAD = "/upload"
FORM = 65_536
"""Bytes of the form around an uploaded file, at most."""
MOST_OF_A_FILE = 2048 * MEBIBYTE
"""Bytes of an upload over its limit that are read and thrown away."""
PATIENCE = 4
"""How many times its limit of a body that is too long is read before the connection is left to break."""


class OneSpelling:
    """Both slash forms reach the same route without a redirect, and `/latest` is `/v1` (Letta V1 API, digest 1.1)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = spelled(scope["path"])
            if path != scope["path"]:
                scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)


def spelled(path: str) -> str:
    """The path as the routes are declared: under the current version and without a slash at its end."""
    if path == LATEST or path.startswith(f"{LATEST}/"):
        path = CURRENT + path[len(LATEST) :]
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


class BodyLimit:
    """Refuses a body over `limit` bytes with 413, by its header where it has one, else as it arrives.

    `uploads`: the same for uploads of files, where the form around a file comes on top.
    """

    def __init__(self, app: ASGIApp, limit: int, uploads: int | None = None) -> None:
        self._app = app
        self._usual = limit
        self._uploads = uploads or limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        is_upload = scope["path"].endswith(UPLOAD) and scope["method"] == "POST"
        limit, form = (self._uploads, FORM) if is_upload else (self._usual, 0)
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        announced = int(length) if length.isdigit() else 0
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if max(seen, announced) > limit + form:
                await self._drain(message, receive, seen, MOST_OF_A_FILE if is_upload else PATIENCE * limit)
                raise HTTPException(413, f"The request body is over the limit of {limit / MEBIBYTE:g} MB ({limit} bytes).")
            return message

        return await self._app(scope, counted, send)

    async def _drain(self, message: Message, receive: Receive, seen: int, most: int) -> None:
        """Throw the rest away: a client that is still writing would see a broken connection instead of the answer."""
        while message.get("more_body", False) and seen < most:
            message = await receive()
            seen += len(message.get("body", b""))


class Unforeseen:
    """Answers 500 to an exception that no handler knew, and logs where it happened."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if scope["type"] != "http":
                raise
            response = unknown_error(error, scope["path"])
            if not begun:
                await response(scope, receive, send)


class UncachedReplies:
    """Replies hold what agents know: nothing between server and client keeps one, and no browser guesses at its type."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("cache-control", "no-store")
                headers.setdefault("x-content-type-options", "nosniff")
            await send(message)

        await self._app(scope, receive, marked if scope["type"] == "http" else send)
