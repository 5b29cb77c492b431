"""Why a request is not authenticated, as the header `WWW-Authenticate` names it."""

from typing import Literal

KeyFault = Literal["missing", "malformed", "unknown", "revoked", "expired", "ambiguous", "misplaced"]
"""Why a request with an API key is not authenticated. `ambiguous`: it carries different keys; `misplaced`: its address contains a
key.
"""
TokenFault = Literal[
    "token_refused",
    "token_too_long",
    "token_malformed",
    "token_algorithm",
    "token_issuer",
    "token_key",
    "token_signature",
    "token_claims",
    "token_expired",
    "token_early",
    "token_audience",
    "token_tenant",
]
"""Why a request with a token of an identity provider is not authenticated. `token_refused`: the deployment has no identity
provider.
"""
