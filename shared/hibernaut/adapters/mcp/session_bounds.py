"""What one session may read, and what it has seen: the reason of its failure, which the protocol's own errors do not tell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2

MOST_BYTES = 8_000_000
"""Bytes that one session reads, of all responses together."""
LONGEST_CHALLENGE = 2_000


class SessionOver(httpx2.StreamError):
    """The session has read as much as it may, or something that it must not read."""


class SessionWatch:
    """Watches one session. `limit`: the bound that it has met. `status`: of the newest response, 0 if it was one of success;
    `challenge`: its header `WWW-Authenticate`; `html`: it is a web page. `cancelled`: nobody wants its call any more. `end` ends
    the session when it has met a bound: the older transport does not tell whoever waits for an answer that its stream broke off.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._remaining = self._most = most
        self.limit = ""
        self.status = 0
        self.challenge = ""
        self.html = False
        self.cancelled = False
        self.end: Callable[[], None] = lambda: None

    def count(self, size: int) -> None:
        """Note that `size` bytes were read. Raises: SessionOver."""
        self._remaining -= size
        if self._remaining < 0:
            self.limit = f"it sent more than {self._most:,} bytes"
            self.end()
            raise SessionOver(self.limit)

    async def answered(self, response: httpx2.Response) -> None:
        """The hook of an HTTP client: notes a refusal, and counts the bytes of the body. Raises: SessionOver for a body that is
        compressed, because a few bytes of it may stand for gigabytes.
        """
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            self.limit = f"it compresses its answers by {encoding[:40]}, which was not asked for"
            raise SessionOver(self.limit)
        self.status = response.status_code if response.status_code >= 300 else 0
        self.challenge = response.headers.get("www-authenticate", "")[:LONGEST_CHALLENGE]
        self.html = "text/html" in response.headers.get("content-type", "")
        if response.status_code in (401, 403):
            raise SessionOver("refused")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Counted(response.stream, self)


class _Counted(httpx2.AsyncByteStream):
    """A body whose bytes are counted."""

    def __init__(self, stream: httpx2.AsyncByteStream, watch: SessionWatch) -> None:
        self._stream = stream
        self._watch = watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._watch.count(len(piece))
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
