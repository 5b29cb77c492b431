"""Which agents the key of a run's request may write to. A restricted key reaches no further agent by asking one of its own to
write to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.schemas.ids import is_id
from hibernaut.services.access.agent_access import AgentAccess
from hibernaut.store.stores import Stores, TenantStores


class KeyReach:
    """The agents of one tenant that a stored key may write to."""

    def __init__(self, all_stores: Stores, stores: TenantStores) -> None:
        self._all = all_stores
        self._tenant = stores.tenant
        self._access = AgentAccess(stores)

    def of(self, key_id: str | None, agent_ids: Sequence[str]) -> set[str]:
        """The agents among these that the key may send messages to. Requests without a stored key reach all; a deleted key
        reaches none.
        """
        if key_id is None or not is_id(key_id, "key"):
            return set(agent_ids)
        key = self._all.api_keys.get(self._tenant, key_id)
        if key is None:
            return set()
        caller = key.principal()
        if caller.is_for_pages:
            return {agent_id for agent_id in agent_ids if (agent_id, "write_messages") in caller.grants}
        return self._access.reached(caller, agent_ids) if caller.restricted else set(agent_ids)
