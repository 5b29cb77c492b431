"""One log line for each request: method, path, status, duration and the id of the API key. Never a query, a header or a body.

Plain ASGI. Knows paths and statuses; must not know any route.
"""

from __future__ import annotations

import logging
import time
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hibernaut.domain.api_keys import KEY_PATTERN

logger = logging.getLogger(__name__)

LONGEST_PATH = 200
"""Largest number of characters of a path that are logged."""
PLAIN = "/:@!$&'()*+,;=~"
ERROR = "error_code"
"""The key of a request's state for the code of the error that it was answered with."""
WHY = "why"
"""The key of a request's state for the reason of its refusal, which contains no value of the request."""
KEY_ID = "key_id"
"""The key of a request's state for the id of its API key."""


def printable(path: str) -> str:
    """A path for a log line: characters that could break a line or control a terminal are percent-encoded, and API keys are
    removed.
    """
    return quote(KEY_PATTERN.sub("hib_…", path)[:LONGEST_PATH], safe=PLAIN, errors="replace")


class RequestLog:
    """Logs each request when its reply ends, with the code of its error, if any. A status of 500 or more, or no reply, is a
    warning.

    The reason of a refusal is an event of the level DEBUG, which `hibernaut dev --verbose` shows. The event contains no value of
    the request; only the reply does.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begun, status = time.monotonic(), 0
        state = scope.setdefault("state", {})

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            error = {"error": state[ERROR]} if ERROR in state else {}
            key = {"key": state[KEY_ID]} if KEY_ID in state else {}
            fields = {"method": printable(scope["method"]), "path": printable(scope["path"]), "status": status or "none"}
            took = {"ms": round((time.monotonic() - begun) * 1000)}
            logger.log(logging.INFO if 0 < status < 500 else logging.WARNING, "request", extra={**fields, **took, **key, **error})
            if WHY in state and logger.isEnabledFor(logging.DEBUG):
                logger.debug("request refused", extra={**fields, WHY: state[WHY]})
