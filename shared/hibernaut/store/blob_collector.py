"""Finds and deletes the blobs that no item names: leftovers of crashes between a blob and its item, and of expired items.

A blob is written before the item that names it, under a key that is used once. Only one item, the blob's owner, can name it. So a
blob is unreferenced for good if its owner does not name it and no write of the owner can be in progress. The collector lists all
blobs in the engine's order, one page at a time. It skips the blobs that are younger than a day, reads the owners of the others
consistently, and deletes the blobs that their owners do not name. Its cursor is an item of the table: a pass may end anywhere,
and any number of processes may collect at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.blobs import BlobEntry, Blobs
from hibernaut.ports.storage.table import Item, Key, Put, Table
from hibernaut.schemas.memory.file import ENDED, StoredFile
from hibernaut.store.package_blobs import PackageBlobs
from hibernaut.store.table import blob_keys, keys
from hibernaut.store.table.bodies.codec import Codec

GRACE = timedelta(days=1)
"""The age below which a blob is skipped: the item that names it may not be written yet. A write takes far less time, which leaves
room for clocks that are adjusted.
"""
ROUND = timedelta(days=1)
"""The minimum time between the beginnings of two rounds over all blobs. With many blobs a round takes longer."""
WRITERS_LIFE = timedelta(minutes=16)
"""The time after which no writer of a blob can be alive: a function lives for 15 minutes."""
PAGE = 200
"""Blobs of one pass: one listing, one read of their owners (DynamoDB: a request per hundred), one write of the cursor."""


class TenantBlobPage(NamedTuple):
    """A page of the listing: the keys of the tenant's blobs in it that remain, the cursor behind it ("": the end), and whether it
    had unreferenced blobs that are too young to be deleted.
    """

    remaining: list[str]
    after: str
    young: bool


class BlobCollector:
    """Deletes the blobs that no item names, in passes of at most `PAGE` blobs."""

    def __init__(self, table: Table, blobs: Blobs, codec: Codec, clock: Clock) -> None:
        self._table = table
        self._blobs = blobs
        self._codec = codec
        self._clock = clock
        self._packages = PackageBlobs(table, blobs, codec)

    def collect(self) -> int:
        """Perform one pass if it is due. Returns the number of deleted blobs.

        Raises: OSError, TableError, StoreUnavailable. After an error the next pass begins at the same place.
        """
        key, now = keys.blob_collection(), self._clock.now()
        state: Item = self._table.get(key) or {"after": "", "began": 0}
        after, started_at = str(state["after"]), int(state["began"])
        if not after:
            if now.timestamp() < started_at + ROUND.total_seconds():
                return 0
            started_at = int(now.timestamp())
        page = self._blobs.list(after, limit=PAGE)
        free = [*self._free(page, now), *self._packages.free(page, now)]
        for blob in free:
            self._blobs.delete(blob)
        next_after = page[-1].place if len(page) == PAGE else ""
        self._table.write(Put({"pk": key.pk, "sk": key.sk, "after": next_after, "began": started_at}))
        return len(free)

    def purge(self, tenant: str, after: str, settled: datetime) -> TenantBlobPage:
        """Delete the blobs of one tenant in the next page that were written before `settled` and that no item names: leftovers of
        the erasure of a person do not wait for `collect`. Traces of existing steps stay.

        Raises: OSError, TableError, StoreUnavailable. A repeated call deletes the rest.
        """
        now, page = self._clock.now(), self._blobs.list(after, limit=PAGE)
        of_tenant = [entry for entry in page if entry.key.startswith(blob_keys.blob_prefixes(tenant))]
        free = set(self._free([entry for entry in of_tenant if entry.at <= settled], now, timedelta()))
        traced = [blob for blob in free if blob.endswith(blob_keys.TRACE)]
        steps = {blob: owner for blob in traced if (owner := blob_keys.blob_owner(blob)) is not None}
        existing = self._table.get_many(list(steps.values())) if steps else {}
        free -= {blob for blob, owner in steps.items() if owner in existing}
        young = {entry.key for entry in of_tenant if entry.key in free and entry.at > now - WRITERS_LIFE}
        for blob in free - young:
            self._blobs.delete(blob)
        remaining = [entry.key for entry in of_tenant if entry.key not in free - young]
        return TenantBlobPage(remaining, page[-1].place if len(page) == PAGE else "", bool(young))

    def _free(self, page: Sequence[BlobEntry], now: datetime, grace: timedelta = GRACE) -> list[str]:
        """The blobs of a page that no item names or will name. Blobs with keys of another layout are skipped."""
        owners = {entry.key: blob_keys.blob_owner(entry.key) for entry in page if entry.at < now - grace}
        owner_keys = [owner for owner in owners.values() if owner is not None]
        items = self._table.get_many(list(dict.fromkeys(owner_keys))) if owner_keys else {}
        return [blob for blob, owner in owners.items() if owner is not None and not self._is_named(blob, owner, items)]

    def _is_named(self, blob: str, owner: Key, items: Mapping[Key, Item]) -> bool:
        item = items.get(owner)
        if item is None:
            return False
        if not blob.startswith((blob_keys.FILES, blob_keys.UPLOADS, blob_keys.TEXTS)):
            return item.get("blob") == blob
        if "v" not in item:  # only a late count without a record
            return False
        return self._is_text(blob, item) if blob.startswith(blob_keys.TEXTS) else True

    def _is_text(self, blob: str, item: Item) -> bool:
        """Whether a file's text has this part. While the file is ingested, its parts are stored before the file names them."""
        try:
            file = self._codec.record(StoredFile, item)
        except KeyError:  # deleted during this read: the next round deletes the blob
            return True
        return blob_keys.of_text_blob(blob) < len(file.parts) if file.readable or file.status in ENDED else True
