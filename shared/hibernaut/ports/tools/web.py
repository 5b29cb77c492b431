"""Outbound HTTP: the callbacks at the end of a run, webhooks, and public pages that agents read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable


class WebFailure(Exception):
    """The request got no response. The message gives the cause and quotes nothing of the request."""


@immutable
class WebPage:
    """The response to a page request. `content_type` is the server's header, `url` the address after redirects. `truncated`: the
    body is longer than `data`."""

    status: int
    content_type: str
    data: bytes
    url: str
    truncated: bool = False


class Web(Protocol):
    """The HTTP client for the public internet."""

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """Send a JSON body once and return the HTTP status; the rest of the response is not read. Redirects are not followed.

        Raises: WebFailure.
        """

    def deliver(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
        """Send these bytes once, as `post` does.

        Raises: WebFailure.
        """

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:
        """Read a page of the public internet: at most `most` bytes, within `seconds`, over a few redirects. Private addresses
        are refused, unless the operator named them.

        Raises: WebFailure.
        """


class NoWeb:
    """The web of a deployment without outbound access: every call raises WebFailure."""

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:  # noqa: ARG002 - the port names them
        raise WebFailure("this deployment reaches nothing outside")

    def deliver(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:  # noqa: ARG002 - the port names them
        raise WebFailure("this deployment reaches nothing outside")

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:  # noqa: ARG002 - the port names them
        raise WebFailure("this deployment reaches nothing outside")


NO_WEB = NoWeb()
