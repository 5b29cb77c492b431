"""One record of a tenant that steps need and that is seldom changed: read in a batch that is sent anyway, and remembered for
seconds.

That there is no record is remembered as long, so that a tenant without one pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.immutable import immutable
from hibernaut.store.table.lru_cache import LruCache, TenantCache
from hibernaut.store.table.tenant_table import TenantTable

T = TypeVar("T")
FRESH_SECONDS = 5.0
"""Seconds for which a record that was read is used again."""
MOST_REMEMBERED = 4096
"""The largest number of tenants whose record a process remembers; the oldest are forgotten."""
_ONLY = "record"
"""The one name in a tenant's cache."""


@immutable
class Remembered(Generic[T]):
    """A value as it was read at a moment of the process's clock."""

    value: T
    at: float


class RememberedRecord(Generic[T]):
    """The record of one tenant at `key`. `read` makes its value of its item, `none` is the value where there is no item."""

    def __init__(
        self,
        table: TenantTable,
        key: Key,
        clock: Clock,
        cache: TenantCache[Remembered[T]],
        *,
        read: Callable[[Item], T],
        none: T,
    ) -> None:
        self.key = key
        self._table = table
        self._clock = clock
        self._known = cache
        self._read = read
        self._none = none

    def stored(self) -> T:
        """The value as it is stored now."""
        item = self._table.get(self.key)
        return self._read(item) if item is not None else self._none

    def current(self) -> T:
        """The value, at most `FRESH_SECONDS` old."""
        reading = self.reading()
        if reading.keys:
            reading.take(self._table.get_many(reading.keys))
        return reading.value

    def reading(self) -> RecordReading[T]:
        """A read of the record, as part of a batch that the caller sends anyway."""
        cached = self._known.get(_ONLY)
        if cached is not None and self._clock.monotonic() - cached.at < FRESH_SECONDS:
            return RecordReading(self, cached.value, [])
        return RecordReading(self, self._none, [self.key])

    def remember(self, item: Item | None) -> T:
        """The value of the item, which was read now, and which is remembered."""
        value = self._read(item) if item is not None else self._none
        self._known.keep(_ONLY, Remembered(value, self._clock.monotonic()))
        return value

    def forget(self) -> None:
        """Drop the record from the cache, because this process has changed it."""
        self._known.forget(_ONLY)


class RecordReading(Generic[T]):
    """One read of a record. The caller reads `keys` and passes the result to `take`; then `value` is the record's."""

    def __init__(self, record: RememberedRecord[T], value: T, keys: list[Key]) -> None:
        self._record = record
        self.value = value
        self.keys = keys

    def take(self, found: Mapping[Key, Item]) -> None:
        """The items that exist among `keys`; others are ignored."""
        if self.keys:
            self.value = self._record.remember(found.get(self._record.key))


def record_cache() -> LruCache[Remembered[T]]:
    """A cache for one record of each tenant in a process."""
    return LruCache(MOST_REMEMBERED, lambda _: 1)
