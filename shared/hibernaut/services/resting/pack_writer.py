"""Writes packs, finishes those that a worker has left, and takes them apart.

1. The pack's blob is written, then its item: from now on the bodies exist twice.
2. Each record gives its body away, in a write of its own, if the body is still the packed one.
3. The pack is marked as finished.

A worker that finds an unfinished pack continues with step 2. Records are read through their packs at any time, so no reader waits
for any of this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Change, ConditionFailed, Item, Key
from hibernaut.store.conversations.resting import UNFINISHED, key_of, parted_from
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.bodies.packs import COPIED, PACKED, PackedRecord, place_of

PACK_BYTES = 1_000_000
"""Characters of bodies in one pack, about: a reader unpacks all of it."""
PAGE = 200
"""Records of one read."""


@dataclass(slots=True)
class Allowance:
    """How many more records one attempt may look at. `short`: whether the host's time is up."""

    rows: int
    short: Callable[[], bool] = lambda: False

    @property
    def over(self) -> bool:
        return self.rows <= 0 or self.short()


class PackWriter:
    """The packs of one tenant. Its methods raise StoreUnavailable (`store.table.retries`) and OSError; a repeated call
    continues.
    """

    def __init__(self, stores: TenantStores, clock: Clock) -> None:
        self._stores = stores
        self._resting = stores.resting
        self._clock = clock

    def write(self, pk: str, records: Sequence[PackedRecord], allowance: Allowance) -> bool:
        """Move the bodies of these records into a new pack of the partition `pk`. False: the time was up first."""
        pack, change = self._resting.put(pk, records, self._clock.now())
        self._stores.writer.write(change)
        return self._empty(pack, records, None, allowance)

    def go_on(self, pk: str, allowance: Allowance) -> bool:
        """Finish the packs of a partition that another worker has left. False: the time was up first."""
        for item in self._resting.packs(pk):
            if item.get(UNFINISHED):
                allowance.rows -= int(item["records"])
                records = self._resting.entries(key_of(item))
                bodies = {record.key: record.body for record in records}
                found = self._resting.items(list(bodies))
                unemptied = {key for key, one in found.items() if one["body"] == bodies[key]}
                if not self._empty(key_of(item), records, unemptied, allowance):
                    return False
        return True

    def unpack(self, pk: str) -> None:
        """Bring all bodies back that the packs of a partition hold, and delete the packs."""
        for item in self._resting.packs(pk):
            self.take_apart(key_of(item))

    def clear(self, pk: str) -> None:
        """Take the packs of a partition apart that hold records which were deleted."""
        for item in self._resting.packs(pk):
            pack = key_of(item)
            with suppress(KeyError):  # another worker is deleting it
                places = {record.key for record in self._resting.entries(pack)}
                if len(self._resting.items(list(places))) < len(places):
                    self.take_apart(pack)

    def take_apart(self, pack: Key) -> None:
        """Bring all bodies of a pack back, in such a way that no worker which was late gives one to it again, and delete it. A
        pack whose blob is missing stays: another worker is deleting it.
        """
        try:
            entries = list(enumerate(self._resting.entries(pack)))
        except KeyError:
            return
        for start in range(0, len(entries), PAGE):
            remaining = entries[start : start + PAGE]
            while remaining:
                found = self._resting.items([record.key for _, record in remaining])
                remaining = [
                    (number, record)
                    for number, record in remaining
                    if record.key in found and not self.tried(self._parted(found[record.key], record, pack, number))
                ]
        self._stores.writer.write(self._resting.drop(pack))

    def _parted(self, item: Item, record: PackedRecord, pack: Key, number: int) -> Change | None:
        """The change that makes an item independent of a pack; None: it is."""
        if item.get(PACKED) == place_of(record.key, pack, number) and not item["body"]:
            return self._resting.bring_home(record, pack, number)
        is_free = not item["body"] or item.get(COPIED) == parted_from(pack)
        return None if is_free else self._resting.part(item, pack)

    def _empty(self, pack: Key, records: Sequence[PackedRecord], unemptied: Collection[Key] | None, allowance: Allowance) -> bool:
        """Let the records of a pack give their bodies away. `unemptied`: the items that still have them (None: all). False: the
        time was up first.
        """
        for number, record in enumerate(records):
            if unemptied is not None and record.key not in unemptied:
                continue
            if allowance.short():
                return False
            self.tried(self._resting.take_out(record, pack, number))
        self.tried(self._resting.finished(pack))
        return True

    def all_or_each(self, changes: Sequence[Change]) -> None:
        """Write the changes in one transaction; if somebody is ahead with one of them, one by one."""
        try:
            self._stores.writer.write(*changes)
        except ConditionFailed:
            for change in changes:
                self.tried(change)

    def tried(self, change: Change | None) -> bool:
        """Whether a change was written, or there is none. False: its condition failed, because somebody else was ahead."""
        if change is None:
            return True
        try:
            self._stores.writer.write(change)
        except ConditionFailed:
            return False
        return True
