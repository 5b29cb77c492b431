"""Looks which sets of packages the tools of all tenants use, so that the others can be removed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from hibernaut.store.stores import Stores

AT_ONCE = 100
"""Tools that are read at a time."""
logger = logging.getLogger(__name__)


class PackageCollector:
    """Finds the unused sets. `collect` gets the digests of those in use, and returns the number of those that it removed."""

    def __init__(self, stores: Stores, collect: Callable[[Collection[str]], int]) -> None:
        self._stores = stores
        self._collect = collect

    def run(self) -> None:
        """One look at all tools. Raises: StoreUnavailable; then nothing is removed."""
        removed = self._collect({digest for tenant in self._stores.api_keys.tenants() for digest in self._used(tenant)})
        if removed:
            logger.info("unused packages removed", extra={"count": removed})

    def _used(self, tenant: str) -> set[str]:
        tools = self._stores.of(tenant).tools
        ids = [str(row["sk"]) for row in tools.listed().all()]
        found: set[str] = set()
        for start in range(0, len(ids), AT_ONCE):
            read = tools.get_many(ids[start : start + AT_ONCE]).values()
            found |= {tool.packages.digest for tool in read if tool.packages is not None}
        return found
