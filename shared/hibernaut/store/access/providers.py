"""Providers with a tenant's own keys in the table: the record, and the unique name.

The records are few and lie in one partition, so that one read finds all of them. This module has reads, and changes that a use
case combines into a transaction. It must not know how a key is encrypted.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Item, Put, Update, Value, eq
from hibernaut.schemas.models.provider import StoredProvider
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.tenant_table import TenantTable


class ProviderStore:
    """The providers of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, provider_id: str) -> StoredProvider | None:
        """The provider, or None."""
        item = self._table.get(keys.provider(self._tenant, provider_id))
        return self._read(item) if item else None

    def all(self) -> list[StoredProvider]:
        """All providers, oldest first."""
        return self.read(self.listed().all())

    def listed(self) -> RowList:
        """The rows of all providers, which are their records."""
        return RowList(self._table, keys.provider(self._tenant, "provider").pk, mark="version")

    def read(self, rows: Sequence[Item]) -> list[StoredProvider]:
        """The records in these rows."""
        return [self._read(row) for row in rows]

    def _read(self, item: Item) -> StoredProvider:
        provider = self._codec.record(StoredProvider, item)
        provider.version = int(item["version"])
        return provider

    def create(self, provider: StoredProvider, token: str) -> list[Change]:
        """The changes that create a provider. The condition of the last one is that the name is free."""
        key, name = keys.provider(self._tenant, provider.id), keys.provider_name(self._tenant, provider.name)
        row_attributes = {"name": provider.name, "provider_type": provider.provider_type}
        return [
            Put(self._codec.item(key, provider, version=provider.version, wt=token, **row_attributes), ABSENT),
            Put({"pk": name.pk, "sk": name.sk, "provider": provider.id}, ABSENT),
        ]

    def change(self, before: StoredProvider, after: StoredProvider, token: str) -> Change:
        """The change from `before` to `after`; the name stays. Condition: the version is that of `before`."""
        key = keys.provider(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        return Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))

    def delete(self, provider: StoredProvider) -> list[Change]:
        """The changes that delete a provider with its keys. Condition: the version is that of `provider`."""
        key = keys.provider(self._tenant, provider.id)
        return [
            Delete(key, eq(version=provider.version), freed(key, provider)),
            Delete(keys.provider_name(self._tenant, provider.name)),
        ]
