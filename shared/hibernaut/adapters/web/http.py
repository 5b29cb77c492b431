"""The port `Web` over HTTP, by httpx. Knows connections and time-outs. Must not know what is sent, or why."""

from __future__ import annotations

from hibernaut.ports.web import WebFailure
from hibernaut.schemas.base import JsonObject


class HttpWeb:
    """Each post has a connection of its own: they are rare, and go to strangers."""

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """`seconds` bounds the connecting, and each silence after it."""
        import httpx2

        try:
            with (
                httpx2.Client(timeout=seconds, follow_redirects=False) as client,
                client.stream("POST", url, json=body) as answer,
            ):
                return answer.status_code
        except httpx2.TimeoutException as error:
            raise WebFailure(f"no answer within {seconds:g} seconds") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise WebFailure(f"no connection ({type(error).__name__})") from error
