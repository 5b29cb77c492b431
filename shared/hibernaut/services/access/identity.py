"""From a token of an identity provider to the principal of a request: the tenant comes from the token and from nothing else."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from hibernaut.domain.identity_tokens import TokenRules, check_claims, claim, scope_in, subject_of
from hibernaut.ports.clock import Clock
from hibernaut.ports.identity import TokenVerifier
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.errors import Unauthenticated
from hibernaut.schemas.immutable import immutable
from hibernaut.store.stores import Stores
from hibernaut.store.table.tenants import LONGEST, is_tenant

MOST_TENANTS = 4096
"""The largest number of tenants that a process remembers as listed."""


@immutable
class IdentityProvider:
    """The issuer of a deployment: the verifier of its tokens, and the required claims."""

    verifier: TokenVerifier
    rules: TokenRules


class TokenPrincipals:
    """Makes principals of tokens. Thread-safe."""

    def __init__(self, provider: IdentityProvider, stores: Stores, clock: Clock) -> None:
        self._verifier = provider.verifier
        self._rules = provider.rules
        self._stores = stores
        self._clock = clock
        self._lock = threading.Lock()
        self._listed: OrderedDict[str, None] = OrderedDict()

    def of(self, token: str) -> Principal:
        """The principal of a request with this token. Raises: Unauthenticated, ScopeTooNarrow, IdentityProviderUnavailable,
        StoreUnavailable.

        Its `key_id` is a pseudonym of the subject, so that usage is summed by user, and logs name nobody.
        """
        rules, claims = self._rules, self._verifier.claims(token)
        check_claims(claims, rules, self._clock.now())
        subject, tenant = subject_of(claims), claim(claims, rules.tenant_claim)
        if not isinstance(tenant, str) or not is_tenant(tenant):
            raise Unauthenticated(
                "token_tenant",
                f"The claim {rules.tenant_claim} of the token names no tenant. Have the issuer set 1 to {LONGEST} of the characters a-z, 0-9"
                " and inner hyphens.",
            )
        scope = scope_in(claims, rules)
        self._list(tenant)
        digest = hashlib.sha256(f"{rules.issuer}\n{subject}".encode()).hexdigest()
        return Principal(tenant, scope, key_id=f"jwt-{digest[:32]}")

    def _list(self, tenant: str) -> None:
        """Enter the tenant into the list of tenants, once in a process: sweeps and the feeding of the index go through that
        list.
        """
        with self._lock:
            if tenant in self._listed:
                self._listed.move_to_end(tenant)
                return
        self._stores.writer.write(self._stores.api_keys.enter(tenant))
        with self._lock:
            self._listed[tenant] = None
            while len(self._listed) > MOST_TENANTS:
                self._listed.popitem(last=False)
