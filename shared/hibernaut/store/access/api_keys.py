"""API keys in the table: one item for each key under its digest, list rows for each tenant, the pepper of the digests, and the
tenants.

A key is looked up before its tenant is known, so the items of keys belong to no tenant's partition. The list row of a key lies in
its tenant's partition and names the digest. Only reads stand here, and the changes that a transaction is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Delete, Item, Key, Op, Put, Table, Term, Update, Value, eq
from hibernaut.schemas.access.api_key import StoredApiKey
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.store.access import deployment_keys
from hibernaut.store.access.rates import RateStore
from hibernaut.store.table import keys

KEPT_DAYS = 30
"""Days for which a revoked or expired key stays in lists."""
TOKENS_KEPT = timedelta(hours=1)
"""The time for which a revoked or expired client-side access token stays: there may be one for each visit of a page."""


class ApiKeyStore:
    """The keys of all tenants."""

    def __init__(self, table: Table, rates: RateStore) -> None:
        """`rates`: brought up to date by each read of a key."""
        self._table = table
        self._rates = rates

    def by_digest(self, digest: str) -> StoredApiKey | None:
        """The key with this digest, by one read; revoked and expired keys too."""
        item = self._with_rates(deployment_keys.api_key(digest))
        return _read(item) if item else None

    def get(self, tenant: str, key_id: str) -> StoredApiKey | None:
        """The key with this id, if it is the tenant's."""
        row = self._table.get(keys.api_key_row(tenant, key_id))
        return self.by_digest(str(row["digest"])) if row else None

    def page(self, tenant: str, *, after: str | None = None, limit: int | None = None) -> list[StoredApiKey]:
        """The keys of a tenant with ids greater than `after`, oldest first."""
        rows = self._table.query(keys.api_key_row(tenant, "key").pk, after=after, limit=limit)
        found = self._table.get_many([deployment_keys.api_key(str(row["digest"])) for row in rows])
        return sorted((_read(item) for item in found.values()), key=lambda key: key.id)

    def create(self, key: StoredApiKey, token: str) -> list[Change]:
        """The changes that add a key, and its tenant to the list of tenants."""
        place, row = deployment_keys.api_key(key.digest), keys.api_key_row(key.tenant, key.id)
        return [
            Put({"pk": place.pk, "sk": place.sk, "used": "", "wt": token, **_attributes(key)}, ABSENT),
            Put({"pk": row.pk, "sk": row.sk, "digest": key.digest, **_ttl(key)}),
            self.enter(key.tenant),
        ]

    def change(self, before: StoredApiKey, after: StoredApiKey, token: str) -> list[Change]:
        """The changes from the record that was read to `after`. The condition is that nobody else has changed it."""
        stored_key = after.model_copy(update={"version": before.version + 1})
        ttl = _ttl(stored_key)
        cleared = () if ttl else ("ttl",)
        row = keys.api_key_row(stored_key.tenant, stored_key.id)
        return [
            Update(
                deployment_keys.api_key(stored_key.digest),
                set={**_attributes(stored_key), "wt": token},
                remove=cleared,
                when=eq(version=before.version),
            ),
            Update(row, set={"digest": stored_key.digest, **ttl}, remove=cleared),
        ]

    def used(self, digest: str, now: datetime, interval: timedelta) -> Change:
        """The change that records the last use. It fails if another process has recorded one within `interval`."""
        bound = wire_time(now - interval)
        return Update(deployment_keys.api_key(digest), set={"used": wire_time(now)}, when=(*PRESENT, Term("used", Op.LE, bound)))

    def delete(self, key: StoredApiKey) -> list[Change]:
        """The changes that remove a key."""
        return [Delete(deployment_keys.api_key(key.digest)), Delete(keys.api_key_row(key.tenant, key.id))]

    def pepper(self) -> str | None:
        """The sealed pepper, in base 64. None: no key was ever created."""
        item = self._with_rates(deployment_keys.pepper())
        return str(item["sealed"]) if item else None

    def _with_rates(self, key: Key) -> Item | None:
        """An item, and in the same request the limits on requests per second, which are remembered."""
        found = self._table.get_many([key, self._rates.key])
        self._rates.take(found.get(self._rates.key))
        return found.get(key)

    def create_pepper(self, sealed: str, token: str) -> Change:
        """The change that stores the pepper. It fails if there is one."""
        place = deployment_keys.pepper()
        return Put({"pk": place.pk, "sk": place.sk, "sealed": sealed, "wt": token}, ABSENT)

    def enter(self, tenant: str) -> Change:
        """The change that adds a tenant to the list of tenants; one that is listed stays."""
        place = deployment_keys.tenant_entry(tenant)
        return Put({"pk": place.pk, "sk": place.sk})

    def tenants(self) -> Sequence[str]:
        """The names of all tenants, sorted: the default tenant, and every tenant for which a key was created or a token was
        accepted.
        """
        found = self._table.query(deployment_keys.tenant_entry(DEFAULT_TENANT).pk)
        return sorted({DEFAULT_TENANT, *(str(item["sk"]) for item in found)})


def _read(item: Item) -> StoredApiKey:
    key = StoredApiKey.model_validate_json(str(item["body"]))
    last_use = str(item["used"])
    return key.model_copy(update={"last_used_at": datetime.fromisoformat(last_use)}) if last_use else key


def _attributes(key: StoredApiKey) -> dict[str, Value]:
    return {"body": key.model_dump_json(), "version": key.version, **_ttl(key)}


def _ttl(key: StoredApiKey) -> dict[str, Value]:
    ends = [moment for moment in (key.revoked_at, key.expires_at) if moment is not None]
    retention = timedelta(days=KEPT_DAYS) if key.page_access is None else TOKENS_KEPT
    return {"ttl": int((min(ends) + retention).timestamp())} if ends else {}
