"""What is built for one tenant at a time, from the tenant's own stores: use cases, run engines, feeders of the index."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

KEPT = 256
"""Tenants whose things a process keeps: those asked for last. What is built holds no state of its own, so nothing is lost with it."""

T = TypeVar("T")


class PerTenant(Generic[T]):
    """Builds a thing for a tenant when it is first asked for, and keeps it for the tenants that were asked for last. Thread-safe: two
    threads that ask at once may get two equal things."""

    def __init__(self, make: Callable[[str], T]) -> None:
        """`make` gets a tenant's name and does no I/O."""
        self._made = lru_cache(maxsize=KEPT)(make)

    def of(self, tenant: str) -> T:
        """The thing of this tenant. Raises: InvalidArgument where no tenant may be called so."""
        return self._made(tenant)
