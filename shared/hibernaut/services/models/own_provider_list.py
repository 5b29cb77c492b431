"""The providers with keys of one tenant's own, connected: what `TenantModels` calls and lists.

The records are read at each call of such a model, so that a changed or deleted key takes effect at the next call in every
process: one read beside a call that takes seconds. A connection stands for one version of one record. Knows records and the
ports; must not know a wire.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from hibernaut.ports.model import ConnectedProvider, ProviderAccess, ProviderConnections
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.schemas.errors import HibernautError, MasterKeyUnavailable, ModelAuthentication
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription
from hibernaut.schemas.models.provider import StoredProvider
from hibernaut.store.access.providers import ProviderStore
from hibernaut.store.table.lru_cache import TenantCache
from hibernaut.store.table.tenant_seals import SealPurpose, TenantSeals

MOST_LISTED = 1_000
"""The number of models of one provider in the list of models. All others can be used by their handles; a reply of Lambda's is
limited.
"""
MOST_AT_ONCE = 16
"""The number of providers whose lists are requested at the same time."""
Row = TypeVar("Row", ModelDescription, EmbeddingModelDescription)
logger = logging.getLogger(__name__)


@immutable
class ProviderConnection:
    """A connected provider, for one version of its record."""

    version: int
    provider: ConnectedProvider


class ProviderVault:
    """Encrypts and decrypts the keys of a tenant's providers."""

    def __init__(self, seals: TenantSeals) -> None:
        self._seals = seals

    def seal(self, provider_id: str, purpose: SealPurpose, key: str | None) -> str | None:
        """The encrypted key in base64; None without one. Raises: MasterKeyUnavailable, NotImplementedHere."""
        return None if key is None else self._seals.seal(key.encode(), purpose, provider_id)

    def open(self, provider: StoredProvider) -> ProviderAccess:
        """The provider's access with its keys.

        Raises: ModelAuthentication if the keys cannot be opened; MasterKeyUnavailable, which is no failure of the provider and
        leaves a run open; NotImplementedHere.
        """
        try:
            key = self._opened(provider.id, SealPurpose.PROVIDER_KEY, provider.sealed_key)
            access_key = self._opened(provider.id, SealPurpose.PROVIDER_ACCESS_KEY, provider.sealed_access_key)
        except SealBroken as error:
            logger.warning("key of a provider cannot be opened", extra={"provider_id": provider.id})
            raise ModelAuthentication(
                f"{provider.name}: the stored key cannot be decrypted; set it again (PATCH /v1/providers/{provider.id})"
            ) from error
        except MasterKeyUnavailable as error:
            logger.warning("key of a provider is out of reach", extra={"provider_id": provider.id, "code": error.code})
            raise MasterKeyUnavailable(
                f"{provider.name}: its key cannot be read now. {error.detail}", error.retry_after
            ) from error
        return ProviderAccess(provider.name, provider.provider_type, key, provider.base_url, provider.region, access_key)

    def _opened(self, provider_id: str, purpose: SealPurpose, sealed: str | None) -> str | None:
        return None if sealed is None else self._seals.open(sealed, purpose, provider_id).decode()


class OwnProviderList:
    """The providers of one tenant. `connected`: the tenant's part of the process's cache."""

    def __init__(
        self,
        store: ProviderStore,
        vault: ProviderVault,
        connections: ProviderConnections,
        connected: TenantCache[ProviderConnection],
    ) -> None:
        self.connections = connections
        self.vault = vault
        self._store = store
        self._connected = connected

    def get(self, name: str) -> ConnectedProvider | None:
        """The provider with this name, connected. Raises: ModelAuthentication, MasterKeyUnavailable, InvalidArgument,
        StoreUnavailable.
        """
        provider = next((each for each in self._store.all() if each.name == name), None)
        return None if provider is None else self._connection(provider)

    def has(self, name: str) -> bool:
        """Whether there is a provider with this name. Raises: StoreUnavailable."""
        return any(each.name == name for each in self._store.all())

    def models(self) -> list[ModelDescription]:
        """The models of all providers, MOST_LISTED of each. A provider whose key cannot be read has none; its failure is
        logged.
        """
        return self._of_all(lambda each: each.list())

    def embeddings(self) -> list[EmbeddingModelDescription]:
        """The embedding models of all providers, MOST_LISTED of each, as `models`."""
        return self._of_all(lambda each: each.embeddings())

    def _of_all(self, rows_of: Callable[[ConnectedProvider], Sequence[Row]]) -> list[Row]:
        """Rows of all providers, which are requested at the same time."""
        providers = self._store.all()

        def listed(provider: StoredProvider) -> Sequence[Row]:
            try:
                return rows_of(self._connection(provider))[:MOST_LISTED]
            except HibernautError as error:
                logger.warning("provider lists nothing", extra={"provider_id": provider.id, "code": error.code})
                return ()

        if len(providers) <= 1:
            return [row for provider in providers for row in listed(provider)]
        with ThreadPoolExecutor(min(MOST_AT_ONCE, len(providers)), "models") as pool:
            return [row for rows in pool.map(listed, providers) for row in rows]

    def forget(self, provider_id: str) -> None:
        """Drop the connection of a changed or deleted provider, with the key that it holds."""
        self._connected.forget(provider_id)

    def _connection(self, provider: StoredProvider) -> ConnectedProvider:
        connection = self._connected.get(provider.id)
        if connection is None or connection.version != provider.version:
            connection = ProviderConnection(provider.version, self.connections.connect(self.vault.open(provider)))
            self._connected.keep(provider.id, connection)
        return connection.provider
