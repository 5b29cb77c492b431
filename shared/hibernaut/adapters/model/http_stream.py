"""Bytes from a provider: one HTTP answer read under a deadline, whole or as server-sent events. Knows no provider.

The SDKs make the connection, the headers and the errors of a status; they give the answer unread. What reads it here neither guesses
types nor fails in ways of its own: it gives JSON, or an error of ours.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection, ModelTimeout

if TYPE_CHECKING:
    from httpx2 import Response, Timeout

CONNECT_SECONDS = 10.0
END_SECONDS = 0.25
"""How long the end of a stream is waited for, behind its last event: a connection whose stream has ended can be used again."""


def limits(seconds: float) -> Timeout:
    """The SDK's time-outs: to connect, and for each silence. The whole is held by `Answer`."""
    from httpx2 import Timeout

    return Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))


@dataclass(slots=True)
class Answer:
    """An answer that is still to be read. `deadline` on the monotonic clock: looked at whenever bytes arrive, so that an answer that
    drips is given up; one that falls silent ends by the silence's own limit. `hang_up` ends its connection."""

    provider: str
    response: Response
    deadline: float
    hang_up: Callable[[], None]
    _incoming: Iterator[bytes] | None = None

    @property
    def streams(self) -> bool:
        """Whether the answer may be server-sent events: some servers give the whole whatever they are asked."""
        return "event-stream" in self.response.headers.get("content-type", "event-stream")

    def body(self) -> JsonObject:
        """The whole as a JSON object. Raises: ModelConnection, ModelTimeout, InvalidModelResponse."""
        return _object(self.provider, b"".join(self._chunks()))

    def events(self) -> Iterator[JsonObject]:
        """The `data` of each server-sent event as a JSON object, until `[DONE]` or the end. Raises: as `body`."""
        for data in _data(self._lines()):
            if data == "[DONE]":
                return
            yield _object(self.provider, data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give the connection back: where the answer was read well, what stands behind its last event is read first, if it comes soon."""
        if error is None and not self.response.is_closed:
            self._read_on()
        self.response.close()

    def _read_on(self) -> None:
        from httpx2 import DecodingError, TransportError

        patience = threading.Timer(END_SECONDS, self.hang_up)
        patience.daemon = True
        patience.start()
        with suppress(TransportError, DecodingError):
            for _ in self._incoming or ():
                pass
        patience.cancel()

    def _lines(self) -> Iterator[str]:
        rest = b""
        for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.rstrip(b"\r").decode(errors="replace")
        yield rest.decode(errors="replace")
        yield ""

    def _chunks(self) -> Iterator[bytes]:
        from httpx2 import DecodingError, TimeoutException, TransportError

        chunks = self._incoming = self.response.iter_bytes()
        while True:
            try:
                chunk = next(chunks, None)
            except TimeoutException as error:
                raise ModelTimeout(f"{self.provider}: no answer in time") from error
            except (TransportError, DecodingError) as error:
                raise ModelConnection(f"{self.provider}: the connection broke ({type(error).__name__})") from error
            if chunk is None:
                return
            yield chunk
            if time.monotonic() > self.deadline:
                raise ModelTimeout(f"{self.provider}: the answer did not end in time")


def _data(lines: Iterator[str]) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            held.append(line[5:].removeprefix(" "))
        elif not line and held:
            yield "\n".join(held)
            held = []


def _object(provider: str, text: str | bytes) -> JsonObject:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidModelResponse(f"{provider}: the answer is not JSON") from error
    if not isinstance(value, dict):
        raise InvalidModelResponse(f"{provider}: the answer is not a JSON object")
    return value
