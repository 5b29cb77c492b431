"""Reads one HTTP response under a deadline, whole or as server-sent events. Knows no provider.

`provider_client` makes the request and leaves the response unread. This module returns JSON or raises our errors.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hibernaut.adapters.model.wire.watchdog import Watchdog
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection, ModelTimeout

if TYPE_CHECKING:
    from httpx2 import Response, Timeout

CONNECT_SECONDS = 10.0
LONGEST_REPLY = 64 * 1024 * 1024
"""Bytes of a whole reply, and of one event of a stream: ten times what the longest replies of today's models have."""
LONGEST_STREAM = 256 * 1024 * 1024
"""Bytes of a stream, whose events repeat their frames with each token."""
END_SECONDS = 0.25
"""Seconds to wait for the end of a stream after its last event, because a connection is reusable only after that end."""
_watchdog = Watchdog()


def limits(seconds: float) -> Timeout:
    """The time-outs for connecting and for each silence. `HttpAnswer` limits the total."""
    from httpx2 import Timeout

    return Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))


@dataclass(slots=True)
class HttpAnswer:
    """A response that is not read yet. `deadline` is on the monotonic clock and is checked whenever bytes arrive, so that a slow
    stream is abandoned; a silent one ends by the read time-out. `hang_up` aborts the connection.
    """

    provider: str
    response: Response
    deadline: float
    hang_up: Callable[[], None]
    _incoming: Iterator[bytes] | None = None

    @property
    def streams(self) -> bool:
        """Whether the response may be server-sent events: some servers ignore the request for a stream."""
        return "event-stream" in self.response.headers.get("content-type", "event-stream")

    def body(self) -> JsonObject:
        """The whole response as a JSON object. Raises: ModelConnection, ModelTimeout, InvalidModelResponse."""
        return _object(self.provider, self._whole())

    def json(self, most: int | None = None) -> Json:
        """The whole response as JSON of any kind, up to `most` bytes. Raises: as `body`."""
        return _parsed(self.provider, self._whole(most))

    def beginning(self, most: int) -> bytes:
        """The first `most` bytes of the response, or what arrives of them."""
        read = b""
        with suppress(ModelConnection, ModelTimeout):
            for chunk in self._chunks():
                read += chunk
                if len(read) >= most:
                    break
        return read[:most]

    def pieces(self) -> Iterator[bytes]:
        """The bytes as they arrive. Raises: ModelConnection, ModelTimeout."""
        return self._chunks()

    def events(self) -> Iterator[JsonObject]:
        """The `data` of each server-sent event as a JSON object, until `[DONE]` or the end. Raises: as `body`.

        The connection may have broken inside the last event: if no empty line ends it, it counts only if it is whole.
        """
        for data, ended in self._data():
            if data == "[DONE]" or not (ended or _is_whole(data)):
                return
            yield _object(self.provider, data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Release the connection. After a successful read, the rest of the stream is read first if it comes soon."""
        if error is None and not self.response.is_closed:
            self._read_on()
        self.response.close()

    def _whole(self, most: int | None = None) -> bytes:
        if "html" in self.response.headers.get("content-type", ""):
            raise InvalidModelResponse(
                f"{self.provider}: the address answers with a web page instead of JSON; check the base URL (many end with /v1)"
            )
        read = bytearray()
        for chunk in self._chunks():
            read += chunk
            self._check_length(len(read), LONGEST_REPLY if most is None else most)
        return bytes(read)

    def _check_length(self, length: int, most: int) -> None:
        """Refuse what would fill the memory of a process that many agents share."""
        if length > most:
            raise InvalidModelResponse(f"{self.provider}: the answer is longer than {most:,} bytes")

    def _read_on(self) -> None:
        from httpx2 import DecodingError, TransportError

        with _watchdog.limit(END_SECONDS, self.hang_up), suppress(TransportError, DecodingError):
            for _ in self._incoming or ():
                pass

    def _data(self) -> Iterator[tuple[str, bool]]:
        """The data of each event, and whether an empty line ended it."""
        held: list[str] = []
        length = 0
        for line in self._lines():
            if line.startswith("data:"):
                held.append(line[5:].removeprefix(" "))
                length += len(line)
                self._check_length(length, LONGEST_REPLY)
            elif not line and held:
                yield "\n".join(held), True
                held, length = [], 0
        if held:
            yield "\n".join(held), False

    def _lines(self) -> Iterator[str]:
        rest = bytearray()
        for chunk in self._chunks():
            rest += chunk
            self._check_length(len(rest), LONGEST_REPLY)
            if b"\n" in chunk:
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    yield line.rstrip(b"\r").decode(errors="replace")
        yield rest.decode(errors="replace")

    def _chunks(self) -> Iterator[bytes]:
        from httpx2 import DecodingError, TimeoutException, TransportError

        chunks = self._incoming = self.response.iter_bytes()
        length = 0
        while True:
            try:
                chunk = next(chunks, None)
            except TimeoutException as error:
                raise ModelTimeout(f"{self.provider}: no answer in time") from error
            except (TransportError, DecodingError) as error:
                raise ModelConnection(f"{self.provider}: the connection broke ({type(error).__name__})") from error
            if chunk is None:
                return
            length += len(chunk)
            self._check_length(length, LONGEST_STREAM)
            yield chunk
            if time.monotonic() > self.deadline:
                raise ModelTimeout(f"{self.provider}: the answer did not end in time")


def _is_whole(data: str) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(provider: str, text: str | bytes) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidModelResponse(f"{provider}: the answer is not JSON; check the base URL if this stays so") from error
    return value


def _object(provider: str, text: str | bytes) -> JsonObject:
    value = _parsed(provider, text)
    if not isinstance(value, dict):
        raise InvalidModelResponse(f"{provider}: the answer is not a JSON object")
    return value
