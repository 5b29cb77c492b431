"""WebSocket connections that a gateway holds, and the runs that they follow.

A connection is found by its id alone, before its tenant is known, so its item belongs to no tenant's partition; the row in its
tenant's partition counts it. All items expire: a gateway may fail to report the end of a connection. Only reads stand here, and
the changes that a transaction is made of.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Item, Put, Table, Update, eq
from hibernaut.schemas.immutable import immutable
from hibernaut.store.access import deployment_keys
from hibernaut.store.table import keys

CONNECTION_LIFE = timedelta(hours=2, minutes=5)
"""Two hours are API Gateway's quota of a connection."""
FOLLOW_LIFE = timedelta(minutes=16)
"""One worker has 15 minutes; the next one extends the follow."""


@immutable
class StoredConnection:
    """A connection, with the digest of its key (empty: it has none)."""

    id: str
    tenant: str
    digest: str


@immutable
class Follows:
    """The unexpired follows of a connection, by request id; and all of them with their expiry, for the condition of a new one."""

    open: frozenset[str]
    expiries: dict[str, int]


class ConnectionStore:
    """The connections of all tenants."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, connection_id: str, now: datetime) -> StoredConnection | None:
        """The connection, unless it has ended or expired."""
        return _read(connection_id, self._table.get(deployment_keys.socket(connection_id)), now)

    def count(self, tenant: str, now: datetime) -> int:
        """The number of open connections of a tenant. Expired rows do not count."""
        rows = self._table.query(keys.socket_row(tenant, "-").pk, names=("ttl",))
        return sum(int(row["ttl"]) > now.timestamp() for row in rows)

    def open(self, connection: StoredConnection, now: datetime) -> list[Change]:
        """The changes that add a connection."""
        place, row = deployment_keys.socket(connection.id), keys.socket_row(connection.tenant, connection.id)
        ttl = int((now + CONNECTION_LIFE).timestamp())
        return [
            Put({"pk": place.pk, "sk": place.sk, "tenant": connection.tenant, "digest": connection.digest, "ttl": ttl}),
            Put({"pk": row.pk, "sk": row.sk, "ttl": ttl}),
        ]

    def close(self, connection: StoredConnection) -> list[Change]:
        """The changes that remove a connection. Its follows expire."""
        return [Delete(deployment_keys.socket(connection.id)), Delete(keys.socket_row(connection.tenant, connection.id))]

    def follows(self, connection_id: str, now: datetime) -> Follows:
        """What a connection follows."""
        place = deployment_keys.socket_follow(connection_id, "")
        expiries = {
            str(item["sk"])[len(place.sk) :]: int(item["ttl"])
            for item in self._table.query(place.pk, prefix=place.sk, names=("ttl",))
        }
        return Follows(frozenset(name for name, ttl in expiries.items() if ttl > now.timestamp()), expiries)

    def follow(self, connection_id: str, request_id: str, expired: int | None, now: datetime, token: str) -> Change:
        """The change that begins a follow. `expired`: the expiry of an old one of that name, which it replaces."""
        place = deployment_keys.socket_follow(connection_id, request_id)
        ttl = int((now + FOLLOW_LIFE).timestamp())
        return Put(
            {"pk": place.pk, "sk": place.sk, "worker": 0, "ttl": ttl, "wt": token},
            ABSENT if expired is None else eq(ttl=expired),
        )

    def claim(self, connection_id: str, request_id: str, worker: int, now: datetime, token: str) -> Change:
        """The change by which a worker takes the follow over. It fails for a second delivery of a job, and where nobody follows
        any more.
        """
        place = deployment_keys.socket_follow(connection_id, request_id)
        ttl = int((now + FOLLOW_LIFE).timestamp())
        return Update(place, set={"worker": worker + 1, "ttl": ttl, "wt": token}, when=eq(worker=worker))

    def unfollow(self, connection_id: str, request_id: str) -> Change:
        """The change that ends a follow."""
        return Delete(deployment_keys.socket_follow(connection_id, request_id))

    def standing(self, connection_id: str, request_id: str, worker: int, now: datetime) -> tuple[StoredConnection | None, bool]:
        """The connection, and whether this worker still follows for it, by one read."""
        place, follow = deployment_keys.socket(connection_id), deployment_keys.socket_follow(connection_id, request_id)
        found = self._table.get_many([place, follow])
        claimed = found.get(follow)
        return _read(connection_id, found.get(place), now), claimed is not None and claimed["worker"] == worker + 1


def _read(connection_id: str, item: Item | None, now: datetime) -> StoredConnection | None:
    if item is None or int(item["ttl"]) <= now.timestamp():
        return None
    return StoredConnection(connection_id, str(item["tenant"]), str(item["digest"]))
