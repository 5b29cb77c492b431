"""Which agents the key of a run's request reaches. A restricted key reaches no further agent by asking one of its own to write to it."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.schemas.api_key import Principal
from hibernaut.schemas.ids import is_id
from hibernaut.services.access.agent_access import AgentAccess
from hibernaut.store.stores import Stores, TenantStores


class KeyReach:
    """The agents of one tenant that a stored key reaches."""

    def __init__(self, all_stores: Stores, stores: TenantStores) -> None:
        self._all = all_stores
        self._tenant = stores.tenant
        self._access = AgentAccess(stores)

    def of(self, key_id: str | None, agent_ids: Sequence[str]) -> set[str]:
        """The agents among these that the key reaches. Requests without a stored key reach all; a key that is gone reaches none."""
        if key_id is None or not is_id(key_id, "key"):
            return set(agent_ids)
        key = self._all.api_keys.get(self._tenant, key_id)
        if key is None:
            return set()
        names, tags = frozenset(key.agent_ids), frozenset(key.agent_tags)
        caller = Principal(self._tenant, key.scope, key_id=key.id, agent_ids=names, agent_tags=tags)
        return self._access.reached(caller, agent_ids) if caller.restricted else set(agent_ids)
