"""The port `TokenVerifier` for JSON Web Tokens, by PyJWT. Knows the form of a token and its signature.

Only the algorithms of `ALGORITHMS` are accepted, each with a key of its own kind, and only keys that the issuer publishes: a key
or an address of keys in the token itself (`jwk`, `jku`, `x5u`) is never used.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error

from hibernaut.adapters.identity.signing_keys import SigningKeys
from hibernaut.domain.identity_tokens import ALGORITHMS, LONGEST_TOKEN, looks_like_token
from hibernaut.ports.clock import Clock
from hibernaut.ports.tools.web import Web
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import Unauthenticated

_MALFORMED = "The text is not a JSON Web Token, or it was cut off. Send the token of the identity provider unchanged."


class IssuerTokens:
    """Verifies the tokens of one issuer. Thread-safe. Construction costs no I/O."""

    def __init__(self, issuer: str, web: Web, clock: Clock) -> None:
        self._issuer = issuer
        self._keys = SigningKeys(issuer, web, clock)

    def claims(self, token: str) -> JsonObject:
        """As the port says. A token that another issuer claims to have signed is refused before any key is read."""
        if len(token) > LONGEST_TOKEN:
            raise Unauthenticated(
                "token_too_long", f"The token has more than {LONGEST_TOKEN} characters. Request one with fewer claims."
            )
        if not looks_like_token(token):
            raise Unauthenticated("token_malformed", _MALFORMED)
        header, stated = (_json(part) for part in token.split(".")[:2])
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS or "crit" in header:
            accepted = ", ".join(ALGORITHMS)
            raise Unauthenticated(
                "token_algorithm", f"The signature of the token is not accepted. Have the issuer sign with one of {accepted}."
            )
        if stated.get("iss") != self._issuer:
            raise Unauthenticated(
                "token_issuer", "Another issuer made the token. Request one from the identity provider of this server."
            )
        key = self._keys.key(kid if isinstance(kid, str) else None, str(algorithm))
        return _signed(token, key, str(algorithm))


def _signed(token: str, key: object, algorithm: str) -> JsonObject:
    """The claims under the signature. Raises: Unauthenticated."""
    import jwt  # with the first token: a deployment without an identity provider does not load it

    try:
        payload: bytes = jwt.PyJWS(algorithms=[algorithm]).decode(token, key, algorithms=[algorithm])  # type: ignore[arg-type]  # a PyJWK
    except jwt.InvalidTokenError as error:
        raise Unauthenticated(
            "token_signature", "The signature of the token does not fit. Send the token of the identity provider unchanged."
        ) from error
    return _object(payload)


def _json(part: str) -> JsonObject:
    try:
        return _object(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (Base64Error, ValueError) as error:
        raise Unauthenticated("token_malformed", _MALFORMED) from error


def _object(data: bytes) -> JsonObject:
    """Raises: Unauthenticated."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unauthenticated("token_malformed", _MALFORMED) from error
    if not isinstance(found, dict):
        raise Unauthenticated("token_malformed", _MALFORMED)
    return found
