"""Finding the blobs that nothing names, and deleting them: what a crash left between a blob and its record, or a time to live.

A blob is written before the item that names it, under a name that is given once. So a blob is free for good if its owner, the one item
that could name it, does not, and nobody can still be about to write that item. The collector walks over all blobs in the engine's order,
a page at a time, leaves alone what is younger than a day, reads the owners of the others consistently, and deletes what they do not name.
Where it stands is an item of the table: a pass may end anywhere, and any number of processes may collect at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from hibernaut.ports.blobs import BlobEntry, Blobs
from hibernaut.ports.clock import Clock
from hibernaut.ports.table import Item, Key, Put, Table
from hibernaut.schemas.file import ENDED, StoredFile
from hibernaut.store import keys
from hibernaut.store.codec import Codec

GRACE = timedelta(days=1)
"""A blob younger than this may be about to be named. No write takes nearly as long; a clock that is set anew does no harm either."""
ROUND = timedelta(days=1)
"""How often all blobs are looked at, if there are not more than passes and pages allow."""
PAGE = 200
"""Blobs of one pass: one list, one read of their owners (by a hundred on DynamoDB), one write."""


class BlobCollector:
    """Deletes the blobs that nothing names, one bounded pass at a time."""

    def __init__(self, table: Table, blobs: Blobs, codec: Codec, clock: Clock) -> None:
        self._table = table
        self._blobs = blobs
        self._codec = codec
        self._clock = clock

    def collect(self) -> int:
        """One pass, if one is due; how many blobs it deleted. Raises: OSError, TableError; the next pass begins at the same place."""
        key, now = keys.blob_collection(), self._clock.now()
        state: Item = self._table.get(key) or {"after": "", "began": 0}
        after, began = str(state["after"]), int(state["began"])
        if not after:
            if now.timestamp() < began + ROUND.total_seconds():
                return 0
            began = int(now.timestamp())
        page = self._blobs.list(after, limit=PAGE)
        free = self._free(page, now)
        for blob in free:
            self._blobs.delete(blob)
        reached = page[-1].place if len(page) == PAGE else ""
        self._table.write(Put({"pk": key.pk, "sk": key.sk, "after": reached, "began": began}))
        return len(free)

    def _free(self, page: Sequence[BlobEntry], now: datetime) -> list[str]:
        """Those that nothing names and nothing will. Blobs whose keys are not ours are nobody's to delete."""
        owners = {entry.key: keys.blob_owner(entry.key) for entry in page if entry.at < now - GRACE}
        wanted = [owner for owner in owners.values() if owner is not None]
        items = self._table.get_many(list(dict.fromkeys(wanted))) if wanted else {}
        return [blob for blob, owner in owners.items() if owner is not None and not self._is_named(blob, owner, items)]

    def _is_named(self, blob: str, owner: Key, items: Mapping[Key, Item]) -> bool:
        item = items.get(owner)
        if item is None or "v" not in item:  # gone, or no more than a count that came too late
            return False
        if blob.startswith(keys.TEXTS):
            return self._is_text(blob, item)
        return blob.startswith((keys.FILES, keys.UPLOADS)) or item.get("blob") == blob

    def _is_text(self, blob: str, item: Item) -> bool:
        """Whether a file has this part of its text; while it is being read, its parts stand before it."""
        try:
            file = self._codec.record(StoredFile, item)
        except KeyError:  # it went while it was looked at; the next round sees it gone
            return True
        return keys.of_text_blob(blob) < len(file.parts) if file.readable or file.status in ENDED else True
