"""The providers with keys of tenants' own, for each tenant, with the connections of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.model import ProviderConnections
from hibernaut.ports.storage.cipher import Cipher
from hibernaut.services.models.own_provider_list import OwnProviderList, ProviderConnection, ProviderVault
from hibernaut.store.stores import Stores
from hibernaut.store.table.lru_cache import LruCache
from hibernaut.store.table.tenant_seals import TenantSeals

if TYPE_CHECKING:
    from hibernaut.services.models.own_embedders import TenantEmbedders

MOST_CONNECTED = 512
"""The number of connected providers of all tenants in a process."""


class OwnModels:
    """The providers of all tenants, with the connections of the process. Thread-safe."""

    def __init__(self, stores: Stores, cipher: Cipher, connections: ProviderConnections) -> None:
        self._stores = stores
        self._cipher = cipher
        self._connections = connections
        self._connected = LruCache[ProviderConnection](MOST_CONNECTED, lambda _: 1)

    def of(self, tenant: str) -> OwnProviderList:
        """The providers of a tenant; no I/O. Raises: InvalidArgument for an invalid tenant name."""
        store = self._stores.of(tenant).providers
        vault = ProviderVault(TenantSeals(tenant, self._cipher))
        return OwnProviderList(store, vault, self._connections, self._connected.of(tenant))

    def embedders(self, tenant: str, base: Embedders) -> TenantEmbedders:
        """The embedders of a tenant over those of the deployment; no I/O."""
        from hibernaut.services.models.own_embedders import TenantEmbedders

        return TenantEmbedders(tenant, base, self.of(tenant))
