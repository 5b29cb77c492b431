"""Requests to authorization servers through the door. No body is ever logged: it may hold tokens."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

from hibernaut.adapters.door import Door
from hibernaut.ports.tools.oauth import OAuthAnswer, OAuthUnreachable
from hibernaut.schemas.base import Json, JsonObject

SECONDS, MOST_SECONDS = 10.0, 20.0
"""The time limits of connecting and of each silence, and of the whole answer."""
MOST_BYTES = 256_000
ACCEPT = {"accept": "application/json", "accept-encoding": "identity"}


class DoorOAuth:
    """The client. A request has a connection of its own: there are a few of them for each server in a month."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def get(self, url: str) -> OAuthAnswer:
        """As the port says."""
        return self._request("GET", url, headers=ACCEPT)

    def register(self, url: str, client: JsonObject) -> OAuthAnswer:
        """As the port says."""
        return self._request("POST", url, headers=ACCEPT, json=client)

    def token(self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None = None) -> OAuthAnswer:
        """As the port says. Id and secret are encoded before they are joined (RFC 6749, 2.3.1)."""
        auth = (quote_plus(basic[0]), quote_plus(basic[1])) if basic is not None else None
        return self._request("POST", url, headers=ACCEPT, data=dict(form), auth=auth)

    def _request(self, method: str, url: str, **options: Any) -> OAuthAnswer:
        from httpx2 import HTTPError, InvalidURL

        from hibernaut.adapters.pinned_transport import AddressRefused

        until = time.monotonic() + MOST_SECONDS
        try:
            with self._door.client(SECONDS) as client, client.stream(method, url, **options) as response:
                body = bytearray()
                for piece in response.iter_raw():
                    body += piece
                    if len(body) > MOST_BYTES or time.monotonic() > until:
                        return OAuthAnswer(response.status_code)
                return OAuthAnswer(response.status_code, _json(bytes(body)))
        except AddressRefused as refused:
            raise OAuthUnreachable(f"its address {refused}") from None
        except (HTTPError, InvalidURL, OSError) as error:
            raise OAuthUnreachable(f"there is no answer ({type(error).__name__})") from None


def _json(body: bytes) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
