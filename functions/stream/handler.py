"""The REST API as a web server for the Lambda Web Adapter, which forwards each chunk of a response at once.

There is no handler: the adapter speaks Lambda's protocol, and `run.sh` starts a web server with the application of `app`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from functions.log import log
from hibernaut.wiring import aws
from hibernaut.wiring.settings import note_invocation_trace

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TRACE, CONTEXT, GATEWAY = b"x-amzn-trace-id", b"x-amzn-lambda-context", b"x-amzn-request-context"
"""The headers of X-Ray and of the adapter, which passes the contexts of Lambda and of the gateway as JSON."""


def app() -> ASGIApp:
    """The application factory for the web server."""
    log()  # Configures logging before any module of the product logs.
    return Correlation(aws.stream_app())


class Correlation:
    """Adds the ids of a request to the lines that are logged while it is served."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            log().thread_safe_append_keys(**_ids(headers))
            note_invocation_trace(headers.get(TRACE, b"").decode("latin-1"))  # One request comes at a time.
        await self._app(scope, receive, send)


def _ids(headers: dict[bytes, bytes]) -> dict[str, str]:
    """The ids in the headers, without missing ones."""
    trace = headers.get(TRACE, b"").decode("latin-1").partition(";")[0].removeprefix("Root=")
    found = {
        "trace_id": trace,
        "request_id": _member(headers.get(CONTEXT), "request_id"),
        "gateway_request_id": _member(headers.get(GATEWAY), "requestId"),
    }
    return {name: value for name, value in found.items() if value}


def _member(text: bytes | None, name: str) -> str:
    try:
        value = json.loads(text or b"null")
    except ValueError:
        return ""
    return str(value.get(name, "")) if isinstance(value, dict) else ""
