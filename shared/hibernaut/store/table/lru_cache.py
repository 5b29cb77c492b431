"""A process-wide cache for all tenants with one size limit. A reader validates an entry by its version."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """Evicts the oldest entries while their total size exceeds `limit`. The newest entry stays, whatever its size.
    Thread-safe.
    """

    def __init__(self, limit: int, size: Callable[[T], int]) -> None:
        self._limit = limit
        self._size = size
        self._things: OrderedDict[tuple[str, str], tuple[T, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def of(self, tenant: str) -> TenantCache[T]:
        """The view of one tenant."""
        return TenantCache(self, tenant)

    def get(self, tenant: str, name: str) -> T | None:
        """The entry, or None. A read does not make an entry newer."""
        with self._lock:
            found = self._things.get((tenant, name))
        return found[0] if found else None

    def keep(self, tenant: str, name: str, thing: T) -> None:
        """Add or replace an entry. It becomes the newest one."""
        size = max(1, self._size(thing))  # an empty entry takes room too
        with self._lock:
            self._drop((tenant, name))
            self._things[(tenant, name)] = (thing, size)
            self._total += size
            while self._total > self._limit and len(self._things) > 1:
                self._drop(next(iter(self._things)))

    def forget(self, tenant: str, name: str) -> None:
        """Remove an entry. A missing one is no error."""
        with self._lock:
            self._drop((tenant, name))

    def _drop(self, key: tuple[str, str]) -> None:
        dropped = self._things.pop(key, None)
        if dropped is not None:
            self._total -= dropped[1]


class TenantCache(Generic[T]):
    """The entries of one tenant. All tenants share the limit of the cache."""

    def __init__(self, cache: LruCache[T], tenant: str) -> None:
        self._cache = cache
        self._tenant = tenant

    def get(self, name: str) -> T | None:
        """The entry, or None."""
        return self._cache.get(self._tenant, name)

    def keep(self, name: str, thing: T) -> None:
        """Add or replace an entry."""
        self._cache.keep(self._tenant, name, thing)

    def forget(self, name: str) -> None:
        """Remove an entry. A missing one is no error."""
        self._cache.forget(self._tenant, name)
