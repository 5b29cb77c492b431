"""Access to a deployment: one object for authentication and for the administration of every tenant's keys and budgets."""

from __future__ import annotations

from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.storage.cipher import Cipher
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.services.access.api_keys import AccessParts, ApiKeys
from hibernaut.services.access.authentication import Authentication
from hibernaut.services.access.identity import IdentityProvider, TokenPrincipals
from hibernaut.services.access.pepper import Pepper
from hibernaut.services.access.request_rates import RequestRates
from hibernaut.services.access.tool_tokens import ToolTokens
from hibernaut.services.budgets.administration import Budgets
from hibernaut.store.stores import Stores


class Access:
    """Authenticates requests, and administers the keys and the budgets of each tenant. Construction costs no I/O. `tools`: the
    tokens of tools that this process runs.
    """

    def __init__(
        self,
        stores: Stores,
        cipher: Cipher,
        clock: Clock,
        ids: Ids,
        *,
        required: bool,
        alone: bool = False,
        tenant_budget: SetBudget | None = None,
        identity: IdentityProvider | None = None,
    ) -> None:
        """`required`: a request needs a key even before the first key is created. `alone`: no other process serves requests.
        `tenant_budget`: that of a tenant for which none is set. `identity`: whose tokens are accepted beside keys; with it, every
        request needs a key or a token.
        """
        pepper = Pepper(stores, cipher)
        tokens = TokenPrincipals(identity, stores, clock) if identity is not None else None
        self.tools = ToolTokens()
        self.authentication = Authentication(stores, pepper, clock, required=required, tokens=tokens, tools=self.tools)
        self.rates = RequestRates(stores, clock, alone=alone)
        self._parts = AccessParts(stores, pepper, self.authentication, clock, ids)
        self._tenant_budget = tenant_budget

    def keys_of(self, tenant: str) -> ApiKeys:
        """The administration of one tenant's keys. Raises: InvalidArgument if the name is not a valid tenant name."""
        return ApiKeys(self._parts, tenant)

    def budgets_of(self, tenant: str) -> Budgets:
        """The administration of one tenant's budgets. Raises: InvalidArgument if the name is not a valid tenant name."""
        return Budgets(self._parts.stores, tenant, self._parts.clock, self._tenant_budget)

    def has_usable_key(self) -> bool:
        """Whether any tenant has a key that is neither revoked nor expired."""
        now, store = self._parts.clock.now(), self._parts.stores.api_keys
        return any(key.usable(now) for tenant in store.tenants() for key in store.page(tenant))
