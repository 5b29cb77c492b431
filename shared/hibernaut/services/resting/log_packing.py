"""Packs the rows of a log, and brings those of its window back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hibernaut.ports.storage.table import Item
from hibernaut.schemas.agents.conversation import Head
from hibernaut.services.resting import pack_writer
from hibernaut.services.resting.pack_writer import PAGE, Allowance, PackWriter
from hibernaut.store.conversations.resting import is_copied, record_of
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.packs import PACKED, PackedRecord, read_place
from hibernaut.store.table.lists.logs import IdRange

AT_ONCE, AT_ONCE_BYTES = 50, 1_000_000
"""Rows that one transaction brings back, and the size of their bodies in characters, about."""
MOST_BACK = 1_000
"""Rows of a window that a wake brings back, the newest ones. The others stay in their packs."""


@dataclass(slots=True)
class _Part:
    """A part of a log: new records for a pack, rows that a pack holds already, and the last id that was read ("": none)."""

    fresh: list[PackedRecord] = field(default_factory=list)
    again: list[Item] = field(default_factory=list)
    last: str = ""
    ended: bool = False


class LogPacking:
    """Packs the logs of one tenant. Its methods raise StoreUnavailable (`store.table.retries`) and OSError; a repeated call
    continues.
    """

    def __init__(self, stores: TenantStores, packs: PackWriter) -> None:
        self._stores = stores
        self._resting = stores.resting
        self._packs = packs

    def pack(self, head: Head, allowance: Allowance, *, before: str | None = None) -> bool:
        """Pack the rows of a log, those before an id (None: all). False: the allowance ended first.

        Stops as well where somebody writes to the log meanwhile: its head is not as read.
        """
        own = keys.head(self._stores.tenant, head.id).pk
        if not self._packs.go_on(own, allowance):
            return False
        reached = head.packed_to
        while not allowance.over:
            part = self._part(head.id, IdRange(reached or None, before), allowance)
            for row in part.again:
                self._packs.tried(self._resting.take_out_again(row))
            if part.fresh and not self._packs.write(own, part.fresh, allowance):
                return False
            if part.last and not self._packs.tried(self._resting.reached(head, reached, part.last)):
                return True
            if part.ended:
                return True
            reached = part.last or reached
        return False

    def bring_back(self, head: Head) -> int:
        """Bring the bodies of the window's own rows back, and end the rest of the conversation. Returns the number of rows. The
        packs keep their copies, so the next rest writes no pack for them.
        """
        rows = self._resting.rows(head.id, IdRange(head.window.cut), MOST_BACK, descending=True)
        start = head.window.cut or ""
        if len(rows) == MOST_BACK:
            start = keys.last_part(str(rows.pop()["sk"]))
        pinned = self._resting.items([keys.message(self._stores.tenant, head.id, one) for one in head.window.pinned])
        window = {str(row["sk"]): row for row in (*rows, *pinned.values())}
        packed = [row for row in window.values() if PACKED in row and not row["body"] and not row["blob"]]
        for some in self._batches(packed):
            self._packs.all_or_each([self._resting.bring_back(record, str(row[PACKED])) for row, record in some])
        self._packs.tried(self._resting.wake(head, min(head.packed_to, start)))
        return len(packed)

    def unpack(self, conversation: str) -> None:
        """Bring all bodies of a log back and delete its packs, before somebody changes or deletes what they hold."""
        self._packs.unpack(keys.head(self._stores.tenant, conversation).pk)
        self._packs.tried(self._resting.emptied(conversation))

    def _part(self, log: str, span: IdRange, allowance: Allowance) -> _Part:
        """The next rows of a log, as many as fit into a pack."""
        part, size = _Part(), 0
        while size < pack_writer.PACK_BYTES and not allowance.over:
            row_limit = min(PAGE, allowance.rows)
            rows = self._resting.rows(log, IdRange(part.last or span.after, span.before), row_limit)
            allowance.rows -= max(1, len(rows))
            for row in rows:
                part.last = keys.last_part(str(row["sk"]))
                record = record_of(row)
                if record is not None and is_copied(row):
                    part.again.append(row)
                elif record is not None:
                    part.fresh.append(record)
                    size += len(record.body)
            if len(rows) < row_limit:
                part.ended = True
                break
        return part

    def _batches(self, rows: Sequence[Item]) -> Iterator[list[tuple[Item, PackedRecord]]]:
        """The rows with their records, as many as a transaction holds."""
        batch, size = list[tuple[Item, PackedRecord]](), 0
        for row in rows:
            pack, number = read_place(str(row["pk"]), str(row[PACKED]))
            record = self._resting.entries(pack)[number]
            if batch and (len(batch) == AT_ONCE or size + len(record.body) > AT_ONCE_BYTES):
                yield batch
                batch, size = [], 0
            batch.append((row, record))
            size += len(record.body)
        if batch:
            yield batch
