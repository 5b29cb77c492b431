"""How changes are written, and how a writer finds out that a write of its own had succeeded. When it is tried again, says
`store.retries`.

A write whose answer is lost is asked for again. If then a condition fails on an item that bears this writer's token (attribute `wt`),
the first try had succeeded: a transaction is all or nothing, so one mark is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from hibernaut.ports.blobs import Blobs
from hibernaut.ports.table import Change, ConditionFailed, Table, Update
from hibernaut.store.retries import RetryPolicy


class Writer:
    """`written` hears of all changes that were written, once they are. `blobs`: where bodies lie that a change replaces."""

    def __init__(
        self,
        table: Table,
        policy: RetryPolicy,
        written: Callable[[Sequence[Change]], None] | None = None,
        blobs: Blobs | None = None,
    ) -> None:
        self._table = table
        self._policy = policy
        self._written = written
        self._blobs = blobs

    def write(self, *changes: Change, token: str = "") -> None:
        """Write all or nothing. `token` is what the changes set as `wt`; without one the write must be harmless when repeated.

        Raises: ConditionFailed (not by this writer's own success), StoreUnavailable, TooLarge.
        """
        replaced = self._replaced(changes)

        def once() -> None:
            try:
                self._table.write(*changes)
            except ConditionFailed as failure:
                if not token or all(old is None or old.get("wt") != token for old in failure.failed.values()):
                    raise

        self._policy.run(once)
        if self._written:
            self._written(changes)
        self._forget(replaced)

    def _forget(self, blobs: Sequence[str]) -> None:
        """What is written is written, and a blob too many does no harm."""
        if self._blobs is not None:
            with suppress(OSError):
                for blob in blobs:
                    self._blobs.delete(blob)

    def _replaced(self, changes: Sequence[Change]) -> list[str]:
        """The blobs that nothing leads to after these changes: those of versioned records, whose new bodies lie in others. No two
        versions of a record have the same blob, so nobody else comes to need it."""
        new = {change.key: _blob(change) for change in changes if _blob(change)}
        old = self._table.get_many(list(new)) if new and self._blobs else {}
        return [blob for key, item in old.items() if (blob := str(item.get("blob", ""))) and blob != new[key]]


def _blob(change: Change) -> str:
    """Where the new body of a record lies that is replaced, if it lies outside."""
    if not isinstance(change, Update) or "version" not in change.set:
        return ""
    return str(change.set.get("blob", ""))
