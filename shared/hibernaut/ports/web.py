"""The web outside: where somebody asked to be called when his run has ended."""

from __future__ import annotations

from typing import Protocol

from hibernaut.schemas.base import JsonObject


class WebFailure(Exception):
    """There was no answer; the text says why and quotes nothing that was sent."""


class Web(Protocol):
    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """Send a JSON body once; the status of the answer, of which nothing else is read. Redirects are not followed.

        Raises: WebFailure.
        """


class NoWeb:
    """Where nothing outside can be reached."""

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:  # noqa: ARG002 - the port names them
        raise WebFailure("this deployment reaches nothing outside")


NO_WEB = NoWeb()
