"""Writes changes with retries (`store.table.retries`), and detects a writer's own earlier success.

The writer repeats a write whose outcome is unknown. If a condition then fails on an item with this writer's token (attribute
`wt`), the first try has succeeded: a transaction is all or nothing, so one token is enough.

A deleted item has no token. If the condition of a deletion fails because its item is missing, the writer reads the items of all
changes. If each is as this write leaves it, the write counts as done: either the first try has succeeded, or somebody else has
deleted the item, and nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Change, Check, ConditionFailed, Delete, Item, OutcomeUnknown, Put, Table, Update
from hibernaut.store.table.retries import RetryPolicy
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable


class Writer:
    """Writes transactions and deletes the blobs that their changes free.

    `written`: called with the changes after each successful write. `blobs`: holds the freed blobs.
    """

    def __init__(
        self,
        table: Table | TenantTable,
        policy: RetryPolicy,
        written: Callable[[Sequence[Change]], None] | None = None,
        blobs: Blobs | TenantBlobs | None = None,
    ) -> None:
        self._table = table
        self._policy = policy
        self._written = written
        self._blobs = blobs

    def write(self, *changes: Change, token: str = "") -> None:
        """Write all changes or none. `token`: the value of `wt` in the changes; a write without a token must be idempotent.

        Raises: ConditionFailed (not by this writer's own success), StoreUnavailable, TooLarge.
        """

        is_unknown = False

        def once() -> None:
            nonlocal is_unknown
            try:
                self._table.write(*changes)
            except OutcomeUnknown:
                is_unknown = True
                raise
            except ConditionFailed as failure:
                is_own = token and any(old is not None and old.get("wt") == token for old in failure.failed.values())
                if not is_own and not (is_unknown and self._has_happened(changes, failure)):
                    raise

        self._policy.run(once, writes=True)
        if self._written:
            self._written(changes)
        self._free(changes)

    def _has_happened(self, changes: Sequence[Change], failure: ConditionFailed) -> bool:
        """Whether an item that was to be deleted is missing, and nothing is left to do."""
        failed = [(changes[place], old) for place, old in failure.failed.items()]
        if not any(isinstance(change, Delete) and old is None for change, old in failed):
            return False
        if any(isinstance(change, Check) for change, _ in failed):
            return False
        found = self._table.get_many([change.key for change in changes])
        return all(_is_done(change, found.get(change.key)) for change in changes)

    def _free(self, changes: Sequence[Change]) -> None:
        """Delete the blobs that the write freed. The write has succeeded: the collector deletes a blob whose deletion fails
        here.
        """
        if self._blobs is not None:
            with suppress(OSError):
                for change in changes:
                    if not isinstance(change, Check) and change.frees:
                        self._blobs.delete(change.frees)


def _is_done(change: Change, item: Item | None) -> bool:
    """Whether the item is as the change leaves it. An addition cannot be seen."""
    match change:
        case Check():
            return True
        case Delete():
            return item is None
        case Put():
            return item is not None and _has(item, change.item)
        case Update():
            is_set = item is not None and _has(item, change.set)
            return is_set and not change.add and not any(name in (item or {}) for name in change.remove)


def _has(item: Item, attributes: Item) -> bool:
    return all(name in item and item[name] == value for name, value in attributes.items())
