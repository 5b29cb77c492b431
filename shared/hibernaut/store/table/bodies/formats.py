"""The version of the items' format, attribute `v`: every item that is written whole has it, and so has every body that an update
sets.

Two releases use one table at the same time: while traffic shifts from one to the other, after a roll-back, and while a data
folder is used by an older program. So a format changes in two releases:

1. A release reads the new format, in addition to the one that it writes (`READ` is `WRITTEN` + 1).
2. The next release writes it (`WRITTEN` becomes `READ`), and still reads the one before.

An item of a newer format than `READ` raises NewerFormat before anything is done with it. An addition needs no new version: a
reader ignores attributes and fields that it does not know, and each new one has a default. A release that does not know a field
drops it when it writes the record, so a value that must not get lost is written one release after the first one that reads it.
`tests/releases` compares the formats of this release with those of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hibernaut.ports.storage.table import Change, Index, Item, Key, Put, Query, Table
from hibernaut.schemas.errors import NewerFormat

WRITTEN = 1
"""The format that this release writes. Items of the release 0.1 that hold no record have no version, and are read as this one."""
READ = 2
"""The newest format that this release reads."""
SECOND = 2
"""The format of items whose bodies are in packs (`store.table.bodies.packs`), which are written only if a setting enables it, and
of a run while a part of its stored input is in the log: for the seconds in which its first step brings a long input there. A
release that does not know it leaves such a run to others.
"""
ATTRIBUTE = "v"


class VersionedTable:
    """A table whose items have a version: writes add it where it is missing, reads raise NewerFormat. Thread-safe if the table
    is.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, key: Key) -> Item | None:
        """As `Table.get`. Raises: NewerFormat."""
        item = self._table.get(key)
        if item is not None:
            _check(item)
        return item

    def get_many(self, item_keys: Sequence[Key]) -> dict[Key, Item]:
        """As `Table.get_many`. Raises: NewerFormat."""
        found = self._table.get_many(item_keys)
        _check_all(found.values())
        return found

    def query(
        self,
        pk: str,
        *,
        index: Index | None = None,
        after: str | None = None,
        before: str | None = None,
        prefix: str = "",
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> list[Item]:
        """As `Table.query`. Raises: NewerFormat, unless `names` leaves the version out."""
        found = self._table.query(
            pk, index=index, after=after, before=before, prefix=prefix, limit=limit, descending=descending, names=names
        )
        _check_all(found)
        return found

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        """As `Table.query_many`. Raises: NewerFormat."""
        found = self._table.query_many(queries)
        for items in found:
            _check_all(items)
        return found

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        """As `Table.count`."""
        return self._table.count(pk, prefix=prefix, having=having)

    def write(self, *changes: Change) -> None:
        """As `Table.write`."""
        self._table.write(*(_stamped(change) for change in changes))


def _stamped(change: Change) -> Change:
    if not isinstance(change, Put) or ATTRIBUTE in change.item:
        return change
    return Put({**change.item, ATTRIBUTE: WRITTEN}, change.when, change.frees)


def _check_all(items: Iterable[Item]) -> None:
    for item in items:
        _check(item)


def _check(item: Item) -> None:
    version = int(item.get(ATTRIBUTE, WRITTEN))
    if version > READ:
        raise NewerFormat(version, READ)
