"""google-auth's transport on httpx2, without redirects. Imported with google-auth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.auth.exceptions import TransportError
from google.auth.transport import Request

if TYPE_CHECKING:
    from httpx2 import Client

SECONDS = 10.0
"""Seconds that one request for a token may take."""
MakeClient = Callable[[], "Client"]


@dataclass(frozen=True)
class HttpxResponse:
    """A response with the members that google-auth reads (`google.auth.transport.Response`)."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class HttpxRequest(Request):
    """Sends each request on a new connection, because a token is requested once an hour. `client` creates the HTTP client."""

    def __init__(self, client: MakeClient) -> None:
        self._client = client

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> HttpxResponse:
        """As google-auth says. Raises: TransportError."""
        import httpx2

        try:
            with self._client() as client:
                answer = client.request(
                    method, url, content=body, headers=dict(headers or {}), timeout=min(timeout or SECONDS, SECONDS)
                )
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise TransportError(type(error).__name__) from error
        return HttpxResponse(answer.status_code, answer.headers, answer.content)
