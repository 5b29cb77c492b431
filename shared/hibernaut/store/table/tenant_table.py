"""The table and the blobs as the repositories of one tenant see them: an operation on a key of another tenant raises
ForeignTenant. A failure of the blob store raises BlobsUnavailable.

Every partition belongs to one tenant and begins with its name (`store.table.keys`), with these exceptions: the partitions
COLLECTION, APIKEY#…, APIKEYS and TENANTS, and the partitions DUE#… of the index DUE serve all tenants. Only the parts of `Stores`
that belong to no tenant read these, without this module. An item of a tenant may be in the index DUE, because its attributes put
it there and its key does not.

The check compares a prefix for each key. ForeignTenant means a defect of the program: no request can cause it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Change, Index, Item, Key, Put, Query, Table, Update
from hibernaut.schemas.faults.record_faults import BlobsUnavailable
from hibernaut.store.table import blob_keys
from hibernaut.store.table.retries import RETRY_AFTER
from hibernaut.store.table.tenants import checked

logger = logging.getLogger(__name__)


class ForeignTenant(AssertionError):
    """A repository of one tenant used a key of another tenant. Nothing was read or written."""

    def __init__(self, tenant: str, place: str) -> None:
        super().__init__(f"The stores of the tenant {tenant!r} may not name the place {place!r}.")


class TenantTable:
    """The part of a table that belongs to one tenant. Thread-safe if the table is."""

    def __init__(self, table: Table, tenant: str) -> None:
        """Raises: InvalidArgument for an invalid tenant name."""
        self.tenant = checked(tenant)
        self._table = table
        self._prefix = f"{tenant}#"

    def get(self, key: Key) -> Item | None:
        """As `Table.get`. Raises: ForeignTenant."""
        self._own(key.pk)
        return self._table.get(key)

    def get_many(self, item_keys: Sequence[Key]) -> dict[Key, Item]:
        """As `Table.get_many`. Raises: ForeignTenant."""
        for key in item_keys:
            self._own(key.pk)
        return self._table.get_many(item_keys)

    def query(
        self,
        pk: str,
        *,
        index: Index | None = None,
        after: str | None = None,
        before: str | None = None,
        prefix: str = "",
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> list[Item]:
        """As `Table.query`. Raises: ForeignTenant."""
        self._own(pk)
        return self._table.query(
            pk, index=index, after=after, before=before, prefix=prefix, limit=limit, descending=descending, names=names
        )

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        """As `Table.query_many`. Raises: ForeignTenant."""
        for one in queries:
            self._own(one.pk)
        return self._table.query_many(queries) if queries else []

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        """As `Table.count`. Raises: ForeignTenant."""
        self._own(pk)
        return self._table.count(pk, prefix=prefix, having=having)

    def write(self, *changes: Change) -> None:
        """As `Table.write`. Raises: ForeignTenant."""
        for change in changes:
            self._own(change.key.pk)
            if isinstance(change, Put):
                self._listed(change.item)
            elif isinstance(change, Update):
                self._listed(change.set)
        self._table.write(*changes)

    def _listed(self, attributes: Item) -> None:
        """Check that the attributes put the item into a list of its own tenant."""
        for name in ("list_pk", "due_pk"):
            place = attributes.get(name)
            if place is not None and not (name == "due_pk" and str(place).startswith("DUE#")):
                self._own(str(place))

    def _own(self, pk: str) -> None:
        if not pk.startswith(self._prefix):
            raise ForeignTenant(self.tenant, pk)


class TenantBlobs:
    """The blobs of one tenant. Thread-safe if the blobs are."""

    def __init__(self, blobs: Blobs, tenant: str) -> None:
        """Raises: InvalidArgument for an invalid tenant name."""
        self._tenant = checked(tenant)
        self._blobs = blobs
        self._prefixes = blob_keys.blob_prefixes(tenant)

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        """As `Blobs.put`. Raises: ForeignTenant, BlobsUnavailable."""
        self._own(key)
        with _failures_named():
            self._blobs.put(key, data, durable=durable)

    def get(self, key: str) -> bytes:
        """As `Blobs.get`. Raises: ForeignTenant, KeyError, BlobsUnavailable."""
        self._own(key)
        with _failures_named():
            return self._blobs.get(key)

    def delete(self, key: str) -> None:
        """As `Blobs.delete`. Raises: ForeignTenant, BlobsUnavailable."""
        self._own(key)
        with _failures_named():
            self._blobs.delete(key)

    def _own(self, key: str) -> None:
        if not key.startswith(self._prefixes):
            raise ForeignTenant(self._tenant, key)


@contextmanager
def _failures_named() -> Iterator[None]:
    """Raises: BlobsUnavailable in place of OSError. The log gets the system's text, which names no key."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or str(error)
        logger.warning("blobs unavailable", extra={"error": type(error).__qualname__, "cause": cause})
        text = f"The store of large contents does not answer, refuses, or is full; send the request again in {RETRY_AFTER:.0f} seconds."
        raise BlobsUnavailable(text, RETRY_AFTER) from error
