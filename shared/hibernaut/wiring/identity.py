"""The identity provider of a deployment: its settings, and the verifier of its tokens.

HIBERNAUT_JWT_ISSUER        address of an OpenID Connect issuer whose tokens are accepted beside API keys (default: none)
HIBERNAUT_JWT_AUDIENCE      audiences of these tokens, separated by commas; needed with an issuer
HIBERNAUT_JWT_TENANT_CLAIM  the claim that names the tenant (default: tenant)
HIBERNAUT_JWT_SCOPE_CLAIM   the claim with the values that grant scopes (default: scope)
HIBERNAUT_JWT_SCOPES        what these values grant (default: hibernaut:admin=admin,hibernaut:write=write,hibernaut:read=read)
HIBERNAUT_JWT_DEFAULT_SCOPE the scope of a token with none of these values: write, read or none (default: none)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hibernaut.domain.identity_tokens import TokenRules
from hibernaut.schemas.access.scope import Scope
from hibernaut.wiring.configuration.variables import BadSetting

if TYPE_CHECKING:
    from hibernaut.ports.clock import Clock
    from hibernaut.services.access.identity import IdentityProvider

JWT_NAMES = (
    "HIBERNAUT_JWT_ISSUER",
    "HIBERNAUT_JWT_AUDIENCE",
    "HIBERNAUT_JWT_TENANT_CLAIM",
    "HIBERNAUT_JWT_SCOPE_CLAIM",
    "HIBERNAUT_JWT_SCOPES",
    "HIBERNAUT_JWT_DEFAULT_SCOPE",
)
USUAL_SCOPES = "hibernaut:admin=admin,hibernaut:write=write,hibernaut:read=read"
_ISSUER = re.compile(r"(?:https://[A-Za-z0-9.-]+|http://(?:127\.0\.0\.1|localhost|\[::1\]))(?::[0-9]{1,5})?(?:/[^\s?#]*)?")
"""HTTPS, or a test issuer of this machine. No query, no fragment (OpenID Connect Discovery, 2)."""


def identity_in(variables: Mapping[str, str]) -> TokenRules | None:
    """The rules for tokens; None: no tokens are accepted. Raises: BadSetting."""
    issuer = variables.get("HIBERNAUT_JWT_ISSUER", "")
    if not issuer:
        if names := [name for name in JWT_NAMES if variables.get(name)]:
            raise BadSetting(f"{names[0]} needs HIBERNAUT_JWT_ISSUER, the address of the identity provider")
        return None
    if not _ISSUER.fullmatch(issuer):
        raise BadSetting(f"HIBERNAUT_JWT_ISSUER must be an address that begins with https://, without query, not {issuer!r}")
    audiences = tuple(part.strip() for part in variables.get("HIBERNAUT_JWT_AUDIENCE", "").split(",") if part.strip())
    if not audiences:
        raise BadSetting(
            "HIBERNAUT_JWT_AUDIENCE must name the audience of the tokens, or tokens for other services would be accepted"
        )
    default = variables.get("HIBERNAUT_JWT_DEFAULT_SCOPE") or "none"
    if default not in ("none", Scope.READ, Scope.WRITE):
        raise BadSetting(f"HIBERNAUT_JWT_DEFAULT_SCOPE must be write, read or none, not {default!r}")
    return TokenRules(
        issuer,
        audiences,
        variables.get("HIBERNAUT_JWT_TENANT_CLAIM") or "tenant",
        variables.get("HIBERNAUT_JWT_SCOPE_CLAIM") or "scope",
        _scopes(variables.get("HIBERNAUT_JWT_SCOPES") or USUAL_SCOPES),
        None if default == "none" else Scope(default),
    )


def _scopes(text: str) -> tuple[tuple[str, Scope], ...]:
    found: dict[str, Scope] = {}
    for part in text.split(","):
        value, equals, scope = (piece.strip() for piece in part.rpartition("="))
        if not equals or not value or scope not in list(Scope) or value in found:
            raise BadSetting(f"HIBERNAUT_JWT_SCOPES must be pairs like editors=write, each value once, not {part.strip()!r}")
        found[value] = Scope(scope)
    return tuple(found.items())


def identity_provider_of(rules: TokenRules | None, clock: Clock) -> IdentityProvider | None:
    """The identity provider with these rules. The operator names its address, which may be in a private network."""
    if rules is None:
        return None
    from hibernaut.adapters.addresses import ANYWHERE
    from hibernaut.adapters.identity.jwt import IssuerTokens
    from hibernaut.adapters.web.http import HttpWeb
    from hibernaut.services.access.identity import IdentityProvider

    return IdentityProvider(IssuerTokens(rules.issuer, HttpWeb(pages=ANYWHERE), clock), rules)
