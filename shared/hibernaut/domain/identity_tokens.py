"""Tokens of an identity provider (JSON Web Tokens, RFC 7519): their form, the claims that they must have, and the scope that they
grant.

Knows the claims of a token. Must not know how a signature is verified, nor where the issuer's keys are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ScopeTooNarrow, Unauthenticated
from hibernaut.schemas.immutable import immutable

ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""The signatures that are accepted. None of them has a shared secret, so a public key cannot be used to sign."""
LEEWAY_SECONDS = 30
"""Seconds by which the clocks of the issuer and of this server may differ."""
LATEST = 1e12
"""Seconds since 1970 beyond which a number is no time."""
LONGEST_TOKEN = 16 * 1024
"""Characters of a token. The gateway of AWS admits about 10 KB of headers."""
TOKEN_PATTERN = re.compile(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+")
"""The form of a token, for searching in other texts: its header and its claims are JSON objects in base64."""
_FORM = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*")


@immutable
class TokenRules:
    """What the tokens of a deployment must state.

    `audiences`: a token must be meant for one of them. `tenant_claim`: names the claim with the tenant. `scope_claim`: names the
    claim with values that `scopes` maps to a scope; a name that begins with `/` is a path into the claims (JSON pointer).
    `default_scope`: the scope of a token without any of these values (None: it is refused).
    """

    issuer: str
    audiences: tuple[str, ...]
    tenant_claim: str
    scope_claim: str
    scopes: tuple[tuple[str, Scope], ...]
    default_scope: Scope | None = None


def looks_like_token(text: str) -> bool:
    """Whether the text has the three parts of a token."""
    return _FORM.fullmatch(text) is not None


def check_claims(claims: JsonObject, rules: TokenRules, now: datetime) -> None:
    """Check the times and the audience of a token. Raises: Unauthenticated."""
    moment = now.timestamp()
    expires, begins = _time(claims, "exp"), _time(claims, "nbf")
    if expires is None:
        raise Unauthenticated("token_claims", "The token has no expiry (exp). Have the issuer set one.")
    if moment >= expires + LEEWAY_SECONDS:
        raise Unauthenticated("token_expired", "The token has expired. Request a new one from the identity provider.")
    if begins is not None and moment < begins - LEEWAY_SECONDS:
        raise Unauthenticated("token_early", "The token is not valid yet (nbf). Check the clock of the identity provider.")
    if not _audiences(claims) & set(rules.audiences):
        raise Unauthenticated(
            "token_audience", "The token is meant for another audience (aud). Request one for the audience of this server."
        )


def subject_of(claims: JsonObject) -> str:
    """The subject of a token. Raises: Unauthenticated."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise Unauthenticated("token_claims", "The token names no subject (sub). Have the issuer set one.")
    return subject


def scope_in(claims: JsonObject, rules: TokenRules) -> Scope:
    """The widest scope that the token grants. Raises: ScopeTooNarrow if it grants none."""
    found = claim(claims, rules.scope_claim)
    values = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    scopes_by_value: Mapping[str, Scope] = dict(rules.scopes)
    granted = {scopes_by_value[value] for value in values if isinstance(value, str) and value in scopes_by_value}
    for scope in Scope:  # the widest first
        if scope in granted:
            return scope
    if rules.default_scope is None:
        raise ScopeTooNarrow(
            f"FORBIDDEN: The token grants no scope: its claim {rules.scope_claim} has none of the values {', '.join(sorted(scopes_by_value))}."
        )
    return rules.default_scope


def claim(claims: JsonObject, name: str) -> Json:
    """The value of a claim; None if there is none. `name`: the claim's name, or a path like `/realm_access/roles`."""
    if not name.startswith("/"):
        return claims.get(name)
    found: Json = claims
    for part in name[1:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found


def _time(claims: JsonObject, name: str) -> float | None:
    """A time in seconds since 1970; None if the token does not state it. Raises: Unauthenticated."""
    value = claims.get(name)
    if value is None:
        return None
    # A bool is an int in Python, and JSON's parser makes NaN and infinities.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LATEST:
        raise Unauthenticated("token_claims", f"The claim {name} of the token is not a time in seconds.")
    return value


def _audiences(claims: JsonObject) -> set[str]:
    """`aud` is a text or a list. The access tokens of Cognito have none, but `client_id`, as AWS's own JWT authorizer accepts
    it.
    """
    found = claims.get("aud", claims.get("client_id"))
    return {value for value in (found if isinstance(found, list) else [found]) if isinstance(value, str)}
