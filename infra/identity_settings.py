"""The settings of an identity provider in the context: the variables of the functions that check tokens. Plain values."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.wiring.identity import identity_in

JWT_CONTEXT = {
    "jwtIssuer": "HIBERNAUT_JWT_ISSUER",
    "jwtAudience": "HIBERNAUT_JWT_AUDIENCE",
    "jwtTenantClaim": "HIBERNAUT_JWT_TENANT_CLAIM",
    "jwtScopeClaim": "HIBERNAUT_JWT_SCOPE_CLAIM",
    "jwtScopes": "HIBERNAUT_JWT_SCOPES",
    "jwtDefaultScope": "HIBERNAUT_JWT_DEFAULT_SCOPE",
}
"""The context's words, and the variable of each."""


def identity_variables_in(context: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The variables by name; none without an identity provider. Raises: ValueError."""
    variables = {variable: str(context[word]) for word, variable in JWT_CONTEXT.items() if context.get(word)}
    identity_in(variables)
    return tuple(variables.items())
