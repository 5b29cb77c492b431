"""The built-in tools that need the network or other services: `fetch_webpage` reads public pages; the others return an error that
says what must be configured (run-time digest 5.7).

A page read has no side effects, so the call needs no claim: an attempt that replaces a dead one reads the page again.
"""

from __future__ import annotations

from hibernaut.domain.files.file_texts import FileKind, Unreadable, kind_of
from hibernaut.domain.files.text_encodings import decoded
from hibernaut.domain.tools.builtin_online_schemas import NOT_CONFIGURED
from hibernaut.domain.turn.actor import Call, CallResult
from hibernaut.ports.web import WebFailure, WebPage
from hibernaut.schemas.errors import UnsupportedMedia
from hibernaut.schemas.tools.tool import ToolType
from hibernaut.services.host import Host

ONLINE_TYPES = (ToolType.LETTA_BUILTIN, ToolType.LETTA_VOICE_SLEEPTIME_CORE)
SECONDS = 20.0
"""The time limit of one page in seconds, for redirects, download and text extraction together."""
MOST_BYTES = 10_000_000
"""The maximum number of bytes that are read of one page."""


class OnlineTools:
    """The built-in tools that need the network or other services."""

    def __init__(self, host: Host) -> None:
        self._web = host.web
        self._reader = host.reader
        self._clock = host.clock

    def call(self, call: Call) -> CallResult:
        """Perform one call. Invalid arguments and failures of the web are error returns, not exceptions."""
        if call.name != "fetch_webpage":
            return _result(call, NOT_CONFIGURED.get(call.name, f"{call.name} cannot be used on this server."), failed=True)
        url = call.args.get("url")
        if not isinstance(url, str) or not url.strip():
            return _result(call, "`url` must be the address of a page, with http:// or https://.", failed=True)
        try:
            return _result(call, self._fetched(url.strip()))
        except (WebFailure, Unreadable) as failure:
            return _result(call, f"The page could not be read: {failure}.", failed=True)
        except OSError:
            return _result(call, "The page could not be read just now. Try again.", failed=True)

    def _fetched(self, url: str) -> str:
        """The text of a page. Raises: WebFailure, Unreadable, OSError."""
        deadline = self._clock.monotonic() + SECONDS
        page = self._web.page(url, seconds=SECONDS, most=MOST_BYTES)
        if page.status >= 400:
            raise WebFailure(f"the other side answered {page.status}")
        return self._text(page, max(1.0, deadline - self._clock.monotonic()))

    def _text(self, page: WebPage, seconds: float) -> str:
        try:
            kind, _ = kind_of("", page.content_type or "text/html")
        except UnsupportedMedia:
            raise WebFailure(f"it is no text ({page.content_type})") from None
        text = decoded(page.data) if kind is FileKind.TEXT else self._reader.text(page.data, kind, seconds=seconds)
        if not text.strip():
            raise WebFailure("it holds no text")
        return text


def _result(call: Call, text: str, *, failed: bool = False) -> CallResult:
    return CallResult(call, "error" if failed else "success", text, text)
