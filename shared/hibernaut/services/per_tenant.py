"""A bounded cache of the objects that a process builds per tenant: use cases, run engines, index feeders."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

CAPACITY = 256
"""Capacity of the cache, in tenants; the least recently used is evicted. The cached objects hold no state, so eviction loses
nothing."""

T = TypeVar("T")


class PerTenant(Generic[T]):
    """An LRU cache that builds one object per tenant at the first access.

    Thread-safe. Two threads with a simultaneous first access may receive two equal objects.
    """

    def __init__(self, make: Callable[[str], T]) -> None:
        """`make` builds the object from the tenant's name; it does no I/O."""
        self._made = lru_cache(maxsize=CAPACITY)(make)

    def of(self, tenant: str) -> T:
        """The object of this tenant. Raises: InvalidArgument if the name is not a valid tenant name."""
        return self._made(tenant)
