"""The sandbox configuration of a tenant in the table: one item with its sealed variables."""

from __future__ import annotations

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ABSENT, Delete, Item, Put, eq
from hibernaut.schemas.tools.sandbox import StoredSandbox
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lru_cache import TenantCache
from hibernaut.store.table.remembered_record import Remembered, RememberedRecord
from hibernaut.store.table.secret_vault import SecretVault
from hibernaut.store.table.tenant_table import TenantTable


class SandboxStore:
    """The sandbox configuration of one tenant. `now`: what calls of tools use. Reads raise StoreUnavailable
    (`store.table.retries`), and OSError if a blob cannot be read.
    """

    def __init__(
        self,
        table: TenantTable,
        codec: Codec,
        clock: Clock,
        cache: TenantCache[Remembered[StoredSandbox]],
        secrets: SecretVault,
    ) -> None:
        self._codec = codec
        self._secrets = secrets
        self._key = keys.sandbox(table.tenant)
        self.now = RememberedRecord(table, self._key, clock, cache, read=self._read, none=StoredSandbox())

    def get(self) -> StoredSandbox:
        """The configuration as it is stored; one without an id if there is none."""
        return self.now.stored()

    def change(self, before: StoredSandbox, after: StoredSandbox, token: str) -> Put:
        """The change from `before` to `after`, whose values are sealed in place. Condition: it is still `before`. Raises:
        MasterKeyUnavailable, NotImplementedHere.
        """
        self._secrets.seal(after.id, after.variables)
        record = after.model_copy(update={"version": before.version + 1})
        item = self._codec.item(self._key, record, version=record.version, wt=token)
        return Put(item, eq(version=before.version) if before.version else ABSENT, freed(self._key, before))

    def delete(self, before: StoredSandbox) -> Delete:
        """The change that deletes the configuration with its variables. Condition: it is still `before`."""
        return Delete(self._key, eq(version=before.version), freed(self._key, before))

    def _read(self, item: Item) -> StoredSandbox:
        found = self._codec.record(StoredSandbox, item)
        found.version = int(item["version"])
        return found
