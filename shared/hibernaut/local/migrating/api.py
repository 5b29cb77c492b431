"""A server over HTTP: requests that are repeated while it is busy, and pages of lists. Knows no route."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import Json, JsonObject

if TYPE_CHECKING:
    from httpx2 import Client, Response

PATIENCE = 300.0
"""Seconds that a request may take."""
PAUSES = (0.5, 2.0, 8.0)
"""Seconds before each repetition of a request."""
LONGEST_PAUSE = 60.0
"""The longest pause that a server may ask for, in seconds."""
BUSY = frozenset({408, 409, 429, 502, 503, 504})
"""Replies after which a request is repeated. Each request of a migration may be repeated without harm."""
CONTINUE = "What was moved stays. Run the same command again to continue."


class RequestRefused(Exception):
    """A request that a server refuses."""

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail
        super().__init__(f"{status}: {detail}")


class Answer(NamedTuple):
    """The value of a reply."""

    value: Json


class Api:
    """A server. `name`: what it is in messages."""

    def __init__(
        self, url: str, key: str = "", *, name: str, client: Client | None = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        """`client` replaces the default client for `url`. A password in the URL is sent, and never printed."""
        self._address = url.rstrip("/")
        parts = urlsplit(self._address)
        self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        self._name = name
        self._key = key
        self._http = client
        self._pause = pause

    def get(self, path: str, **query: Json) -> Json:
        """The value of a reply. Raises: RequestRefused, CannotServe."""
        return self.send("GET", path, params=query)

    def found(self, path: str, **query: Json) -> Json:
        """The value of a reply; None if there is nothing under this path. Raises: RequestRefused, CannotServe."""
        try:
            return self.get(path, **query)
        except RequestRefused as refused:
            if refused.status in (404, 405, 422, 501):
                return None
            raise

    def each(self, path: str, *, size: int = 100, **query: Json) -> Iterator[JsonObject]:
        """All entries of a list, by its cursor `after`. A server that loses a cursor begins again: repeated entries are omitted,
        and a page without new entries is the last. Raises: RequestRefused, CannotServe.
        """
        ids: set[str] = set()
        cursor: JsonObject = {}
        while page := self.get(path, limit=size, **query, **cursor):
            new = [entry for entry in page if entry["id"] not in ids]
            if not new:
                return
            yield from new
            ids.update(str(entry["id"]) for entry in new)
            cursor = {"after": page[-1]["id"]}

    def send(self, method: str, path: str, **request: Json) -> Json:
        """The value of a reply; None if it has none. Requests to a busy server are repeated. Raises: RequestRefused,
        CannotServe.
        """
        for pause in PAUSES:
            problem, retry_after = self._tried(method, path, request)
            if not isinstance(problem, str):
                return problem.value
            self._pause(max(pause, retry_after))
        problem, _ = self._tried(method, path, request, last=True)
        if isinstance(problem, str):
            raise CannotServe(f"{self._name} {self.url} {problem}. {CONTINUE}")
        return problem.value

    def _tried(self, method: str, path: str, request: JsonObject, *, last: bool = False) -> tuple[str | Answer, float]:
        """The answer, or why there is none and how many seconds the server asks to wait. Raises: RequestRefused, CannotServe (the
        key).
        """
        from httpx2 import HTTPError, InvalidURL

        try:
            reply = self._client().request(method, path, **request)
        except (HTTPError, InvalidURL) as error:
            return f"cannot be reached: {str(error) or type(error).__name__}", 0.0
        if reply.is_success:
            return Answer(self._value(reply)), 0.0
        problem = f"answers {reply.status_code}: {detail_of(reply)}"
        if reply.status_code in (401, 403):
            raise CannotServe(f"{self._name} {self.url} {problem}; give its key", 2)
        if reply.status_code not in BUSY or (reply.status_code == 409 and last):
            raise RequestRefused(reply.status_code, detail_of(reply))
        return problem, _seconds(reply.headers.get("retry-after", ""))

    def _value(self, reply: Response) -> Json:
        if not reply.content:
            return None
        try:
            return reply.json()
        except ValueError:
            raise CannotServe(f"{self._name} {self.url} does not answer in JSON; is it a server of agents?") from None

    def _client(self) -> Client:
        if self._http is None:
            from httpx2 import Client

            headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
            self._http = Client(base_url=self._address, headers=headers, timeout=PATIENCE, follow_redirects=True)
        return self._http

    def close(self) -> None:
        if self._http is not None:
            self._http.close()


def detail_of(reply: Response) -> str:
    """What a reply says about its failure."""
    try:
        value = json.loads(reply.text)
    except ValueError:
        return reply.reason_phrase
    detail = value.get("detail") if isinstance(value, dict) else None
    return str(detail)[:1_000] if detail is not None else reply.reason_phrase


def _seconds(text: str) -> float:
    return min(float(text), LONGEST_PAUSE) if text.isdigit() else 0.0
