"""Requests to authorization servers, and for their metadata: small JSON, once, without redirects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable


class OAuthUnreachable(Exception):
    """There is no answer. The message is a clause about the address, for the user who connects."""


@immutable
class OAuthAnswer:
    """An answer. `body` None: it is no JSON, or larger than an answer may be."""

    status: int
    body: Json = None

    @property
    def is_ok(self) -> bool:
        """Whether the request was accepted."""
        return 200 <= self.status < 300


class OAuthHttp(Protocol):
    """HTTP for OAuth. Thread-safe."""

    def get(self, url: str) -> OAuthAnswer:
        """Ask for metadata. Raises: OAuthUnreachable."""

    def register(self, url: str, client: JsonObject) -> OAuthAnswer:
        """Post a registration as JSON. Raises: OAuthUnreachable."""

    def token(self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None = None) -> OAuthAnswer:
        """Post a form to a token endpoint. `basic`: id and secret of a client that authenticates by the header. Raises:
        OAuthUnreachable.
        """


class NoOAuth:
    """The client of a deployment that reaches no authorization server: every request raises OAuthUnreachable."""

    def get(self, url: str) -> OAuthAnswer:  # noqa: ARG002 - the port names it
        raise OAuthUnreachable("this deployment asks no authorization servers")

    def register(self, url: str, client: JsonObject) -> OAuthAnswer:  # noqa: ARG002 - the port names them
        raise OAuthUnreachable("this deployment asks no authorization servers")

    def token(self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None = None) -> OAuthAnswer:  # noqa: ARG002 - the port names them
        raise OAuthUnreachable("this deployment asks no authorization servers")


NO_OAUTH = NoOAuth()
