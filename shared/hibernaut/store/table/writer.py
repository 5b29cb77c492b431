"""Writes changes with retries (`store.table.retries`), and detects a writer's own earlier success.

The writer repeats a write whose outcome is unknown. If a condition then fails on an item with this writer's token (attribute
`wt`), the first try has succeeded: a transaction is all or nothing, so one token is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Change, Check, ConditionFailed, Table
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

        def once() -> None:
            try:
                self._table.write(*changes)
            except ConditionFailed as failure:
                if not token or all(old is None or old.get("wt") != token for old in failure.failed.values()):
                    raise

        self._policy.run(once, writes=True)
        if self._written:
            self._written(changes)
        self._free(changes)

    def _free(self, changes: Sequence[Change]) -> None:
        """Delete the blobs that the write freed. The write has succeeded: the collector deletes a blob whose deletion fails
        here.
        """
        if self._blobs is not None:
            with suppress(OSError):
                for change in changes:
                    if not isinstance(change, Check) and change.frees:
                        self._blobs.delete(change.frees)
