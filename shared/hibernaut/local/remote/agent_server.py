"""A server of agents over HTTP: requests, replies and streams. Knows the form of errors and of server-sent events; must not know
a route but the import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from hibernaut.local.migrating.api import detail_of
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from httpx2 import Client, Response

PATIENCE = 300.0
"""Seconds that a request may take."""
SILENCE = 60.0
"""Seconds without a byte after which a stream counts as lost; a server sends a ping after 20."""


class Unreachable(CannotServe):
    """The server does not answer, or the connection to it broke."""


class ServerRefused(CannotServe):
    """The server refuses the request. `status` is that of HTTP, `detail` its reason."""

    def __init__(self, url: str, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail
        super().__init__(f"{url} answers {status}: {detail}")


@immutable
class AgentServer:
    """A server that is reached over HTTP. All methods raise Unreachable and ServerRefused, which are CannotServe."""

    url: str
    key: str = field(default="", repr=False)

    def get(self, path: str, **query: Json) -> Json:
        """The value of a reply."""
        return self._value(self._send("GET", path, params=query))

    def text(self, path: str, **query: Json) -> str:
        """The text of a reply."""
        return self._send("GET", path, params=query).text

    def post(self, path: str, body: JsonObject | None = None) -> Json:
        """The value of the reply to a body."""
        return self._value(self._send("POST", path, json=body or {}))

    def patch(self, path: str, body: JsonObject) -> Json:
        """The value of the reply to a change."""
        return self._value(self._send("PATCH", path, json=body))

    def delete(self, path: str) -> None:
        """Delete what is under a path."""
        self._send("DELETE", path)

    def import_file(self, data: bytes, options: JsonObject) -> JsonObject:
        """The reply to an import."""
        fields = {name: str(one).lower() if isinstance(one, bool) else str(one) for name, one in options.items()}
        sent = self._send("POST", "/v1/agents/import", data=fields, files={"file": ("agent.af", data, "application/json")})
        return dict(self._value(sent))

    def events(self, path: str, body: JsonObject) -> Iterator[JsonObject]:
        """The server-sent events of a POST as they come, to the end that the server marks. A stream that ends without it raises
        Unreachable.
        """
        from httpx2 import HTTPError, InvalidURL

        try:
            with self._client(SILENCE) as client, client.stream("POST", path, json=body) as reply:
                if not reply.is_success:
                    reply.read()
                    raise ServerRefused(self.url, reply.status_code, detail_of(reply))
                for line in reply.iter_lines():
                    if line == "data: [DONE]":
                        return
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except (HTTPError, InvalidURL) as error:
            raise self._unreachable(error) from None
        raise Unreachable(f"{self.url} has ended the stream too early")

    def _send(self, method: str, path: str, **request: Json) -> Response:
        from httpx2 import HTTPError, InvalidURL

        try:
            with self._client(PATIENCE) as client:
                reply = client.request(method, path, **request)
        except (HTTPError, InvalidURL) as error:
            raise self._unreachable(error) from None
        if not reply.is_success:
            raise ServerRefused(self.url, reply.status_code, detail_of(reply))
        return reply

    @contextmanager
    def _client(self, seconds: float) -> Iterator[Client]:
        from httpx2 import Client

        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        with Client(base_url=self.url.rstrip("/"), headers=headers, timeout=seconds) as client:
            yield client

    def _unreachable(self, error: Exception) -> Unreachable:
        reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
        return Unreachable(f"{self.url} cannot be reached: {reason}. hibernaut dev starts a server here, --url names another one")

    def _value(self, reply: Response) -> Json:
        if not reply.content:
            return None
        try:
            return reply.json()
        except ValueError:
            raise CannotServe(f"{self.url} does not answer in JSON; is it a server of agents?") from None
