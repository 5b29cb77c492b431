"""Middleware of every request: the canonical path, the limit of the body, a reply to unhandled exceptions, and cache headers.

Plain ASGI. Knows paths, sizes and exceptions; must not know any route.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from fastapi import HTTPException
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hibernaut.rest.http.errors import unknown_error

MEBIBYTE = 1024 * 1024
LATEST, CURRENT = "/latest", "/v1"
CONSOLE = "/console"
"""Where the console is served. Its paths are no routes of the API: the final slash of its page counts."""
UPLOAD = "/upload"
FORM = 65_536
"""Largest size of the form around an uploaded file, in bytes."""
MOST_OF_A_FILE = 2048 * MEBIBYTE
"""Bytes that are read and discarded of an upload that exceeds its limit."""
PATIENCE = 4
"""A body that is too large is read up to this multiple of its limit; then the reply is sent, and the connection breaks."""
_WHOLE = re.compile(rb"https?://(?P<host>[^/?#@]+)(?P<path>/.*)?", re.IGNORECASE | re.DOTALL)
"""A request target that is a whole address, without its query."""


class CanonicalPath:
    """Rewrites the path of a request: a final slash is removed without a redirect, and `/latest` becomes `/v1` (Letta V1 API,
    API 1.1).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = spelled(scope["path"])
            if path != scope["path"]:
                scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)


def spelled(path: str) -> str:
    """The path as the routes declare it: under the current version and without a final slash."""
    if path == LATEST or path.startswith(f"{LATEST}/"):
        path = CURRENT + path[len(LATEST) :]
    return path[:-1] if len(path) > 1 and path.endswith("/") and not is_page(path) else path


def is_page(path: str) -> bool:
    """Whether a path belongs to the console, whose files hold no data of a tenant."""
    return path == "/" or path == CONSOLE or path.startswith(f"{CONSOLE}/")


class OriginForm:
    """Rewrites a request whose target is a whole address (RFC 9112, 3.2.2) as if its target were the path. The host of the target
    replaces the header `Host`, so that the host check judges what the client named.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (target := _WHOLE.fullmatch(scope.get("raw_path") or b"")):
            path = target["path"] or b"/"
            headers = [(b"host", target["host"]), *(each for each in scope["headers"] if each[0] != b"host")]
            scope = {**scope, "path": unquote(path.decode("ascii", "replace")), "raw_path": path, "headers": headers}
        await self._app(scope, receive, send)


class BodyLimit:
    """Answers 413 to a body of more than `limit` bytes: by its Content-Length, or else while it arrives.

    `uploads`: the limit of an uploaded file, to which the form around the file is added.
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
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if max(size, announced) > limit + form:
                await self._drain(message, receive, size, MOST_OF_A_FILE if is_upload else PATIENCE * limit)
                raise HTTPException(413, f"The request body is over the limit of {limit / MEBIBYTE:g} MB ({limit} bytes).")
            return message

        return await self._app(scope, counted, send)

    async def _drain(self, message: Message, receive: Receive, size: int, most: int) -> None:
        """Read and discard the rest of the body: a client that still writes would see a broken connection instead of the
        reply.
        """
        while message.get("more_body", False) and size < most:
            message = await receive()
            size += len(message.get("body", b""))


class UnhandledErrors:
    """Answers 500 to an exception that no handler knows, and logs where it was raised."""

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
    """Adds the headers that forbid caches to store a reply, and browsers to guess its type: replies contain private data."""

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
