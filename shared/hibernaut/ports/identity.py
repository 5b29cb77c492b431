"""Tokens of an identity provider: their signatures and their claims."""

from __future__ import annotations

from typing import Protocol

from hibernaut.schemas.base import JsonObject


class TokenVerifier(Protocol):
    """The verifier of one issuer's tokens."""

    def claims(self, token: str) -> JsonObject:
        """The claims of a token that the issuer has signed. Times, audience and tenant are not checked.

        Raises: Unauthenticated; IdentityProviderUnavailable if the issuer's keys are needed and cannot be read.
        """
