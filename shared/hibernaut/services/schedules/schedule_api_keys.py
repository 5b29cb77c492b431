"""The API key for which a schedule acts: the key that created it, or its successor after a rotation."""

from __future__ import annotations

from datetime import datetime

from hibernaut.schemas.access.api_key import Principal, StoredApiKey
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.ids import is_id
from hibernaut.services.access.agent_access import AgentAccess
from hibernaut.store.access.api_keys import ApiKeyStore
from hibernaut.store.stores import TenantStores

MOST_ROTATIONS = 50
"""Rotations that are followed from the key of a schedule."""


class ScheduleKeys:
    """Finds the keys of one tenant's schedules."""

    def __init__(self, stores: TenantStores, keys: ApiKeyStore) -> None:
        self._tenant = stores.tenant
        self._agents = AgentAccess(stores)
        self._keys = keys

    def acting(self, key_id: str | None, agent_id: str, now: datetime) -> tuple[str | None, bool]:
        """The key that a schedule acts for at this moment, and whether it may. A schedule without a key, or of a token's subject,
        has nothing to be checked.
        """
        if key_id is None or not is_id(key_id, "key"):
            return key_id, True
        key = self._keys.get(self._tenant, key_id)
        for _ in range(MOST_ROTATIONS):
            if key is None or key.replaced_by is None:
                break
            key = self._keys.get(self._tenant, key.replaced_by) or key
        if key is None:
            return key_id, False
        return key.id, key.usable(now) and key.scope.includes(Scope.WRITE) and self._reaches(key, agent_id)

    def _reaches(self, key: StoredApiKey, agent_id: str) -> bool:
        if not key.agent_ids and not key.agent_tags:
            return True
        principal = Principal(key.tenant, key.scope, key.id, key.kind, frozenset(key.agent_ids), frozenset(key.agent_tags))
        return agent_id in self._agents.reached(principal, [agent_id])
