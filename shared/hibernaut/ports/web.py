"""The web outside: addresses that are called when a run has ended, and public pages that agents read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hibernaut.schemas.base import JsonObject


class WebFailure(Exception):
    """There was no answer; the text says why and quotes nothing that was sent."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """What an address answered. `content_type` as the other side says it, `url` after redirects."""

    status: int
    content_type: str
    data: bytes
    url: str


class Web(Protocol):
    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """Send a JSON body once; the status of the answer, of which nothing else is read. Redirects are not followed.

        Raises: WebFailure.
        """

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:
        """Read a page of the public internet: at most `most` bytes, within `seconds`, over a few redirects. Other addresses are refused.

        Raises: WebFailure.
        """


class NoWeb:
    """Where nothing outside can be reached."""

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:  # noqa: ARG002 - the port names them
        raise WebFailure("this deployment reaches nothing outside")

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:  # noqa: ARG002 - the port names them
        raise WebFailure("this deployment reaches nothing outside")


NO_WEB = NoWeb()
