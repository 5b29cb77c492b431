"""Taking away what a deleted agent or conversation leaves behind: logs, runs and their parts, page by page, with their blobs; and single runs.

The agent itself is gone before, so nothing of this is shown any more. A mark is written in the transaction in which it goes, and taken
away when nothing is left: where a worker dies over it, whoever finds the mark goes on. What goes from a log leaves a pointer, by which
the index forgets it. A run goes the other way round, its parts first: as long as it is shown it can be deleted again.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime
from typing import NamedTuple

from hibernaut.ports.blobs import Blobs
from hibernaut.ports.table import MAX_CHANGES, Delete, Item, Key, Put, Table, Value, eq
from hibernaut.schemas.conversation import Head
from hibernaut.schemas.run import Run
from hibernaut.store import keys
from hibernaut.store.unindexed import SEARCHED_ROLES, Unindexed
from hibernaut.store.writes import Writer

TAKEN_UP_MS = 300_000
"""Milliseconds after which the sweep goes on with a deletion."""


class Gone(NamedTuple):
    """What a deletion may have left: of an agent everything that lies under its id, of a conversation (else) these logs."""

    agent_id: str
    logs: tuple[str, ...] = ()


class Erasure:
    def __init__(self, table: Table, blobs: Blobs, writer: Writer, unindexed: Unindexed) -> None:
        self._table = table
        self._blobs = blobs
        self._writer = writer
        self._unindexed = unindexed

    def head(self, tenant: str, head: Head) -> Delete:
        """The change that ends a conversation, on the condition that no run owns it or waits, and nothing was said meanwhile."""
        free = eq(owner="", pending="", waiting=0, version=head.version)
        return Delete(keys.head(tenant, head.id), free)

    def message(self, tenant: str, conversation: str, message_id: str) -> Delete:
        """The change that takes one row out of a log: the system message that another one replaces."""
        return Delete(keys.message(tenant, conversation, message_id))

    def log(self, tenant: str, agent_id: str, conversation: str, kept: Set[str] = frozenset()) -> None:
        """Everything of a conversation that has ended, but the rows that living forks refer to (`kept`, their ids), and the forks' marks."""
        items = self._table.query(keys.head(tenant, conversation).pk, names=("blob", "role"))
        gone = [item for item in items if not _referred(str(item["sk"]), kept)]
        most = MAX_CHANGES - 1
        for page in (gone[start : start + most] for start in range(0, len(gone), most)):
            ids = [keys.last_part(str(item["sk"])) for item in page if item.get("role") in SEARCHED_ROLES]
            forgotten = self._unindexed.pointer(tenant, agent_id, "message", ids, within=conversation, gone=True)
            self._writer.write(*(Delete(Key(str(item["pk"]), str(item["sk"]))) for item in page), *forgotten)
            self.forget_blobs(page)

    def agent(self, tenant: str, agent_id: str) -> None:
        """Everything under an agent's id: first the runs that its rows lead to, then its log, then the rows."""
        own = keys.agent(tenant, agent_id).pk
        for row in self._table.query(own, prefix="RUN#", names=("sk",)):
            self._partition(keys.run(tenant, keys.last_part(str(row["sk"]))).pk)
        self.log(tenant, agent_id, agent_id)
        self._partition(own)

    def mark(self, tenant: str, identifier: str, gone: Gone, now: datetime) -> Put:
        """The change that goes with the end of an agent or a conversation."""
        key, due_ms = keys.gone(tenant, identifier), int(now.timestamp() * 1000) + TAKEN_UP_MS
        named: dict[str, Value] = {"agent": gone.agent_id, "logs": " ".join(gone.logs)}
        return Put({"pk": key.pk, "sk": key.sk, **named, **keys.due(identifier, due_ms)})

    def marked(self, tenant: str, identifier: str) -> Gone | None:
        """What may be left of an agent or a conversation that is gone; None: nothing."""
        item = self._table.get(keys.gone(tenant, identifier))
        return Gone(str(item["agent"]), tuple(str(item["logs"]).split())) if item else None

    def unmark(self, tenant: str, identifier: str) -> None:
        """Nothing is left."""
        self._writer.write(Delete(keys.gone(tenant, identifier)))

    def run(self, tenant: str, run: Run) -> None:
        """A run that has ended, with all its parts and its row in the lists; what it said stays in the log."""
        key, row = keys.run(tenant, run.id), keys.run_row(tenant, run.agent_id, run.id)
        parts = sorted(self._table.query(key.pk, names=("blob",)), key=lambda item: item["sk"] == key.sk)
        last = max(0, len(parts) - MAX_CHANGES + 1)
        self._delete(key.pk, parts[:last])
        self._writer.write(*(Delete(Key(key.pk, str(item["sk"]))) for item in parts[last:]), Delete(row))
        self.forget_blobs(parts[last:])

    def _partition(self, pk: str) -> None:
        self._delete(pk, self._table.query(pk, names=("blob",)))

    def _delete(self, pk: str, items: Sequence[Item]) -> None:
        for start in range(0, len(items), MAX_CHANGES):
            page = items[start : start + MAX_CHANGES]
            self._writer.write(*(Delete(Key(pk, str(item["sk"]))) for item in page))
            self.forget_blobs(page)

    def outside(self, *places: Key) -> list[Item]:
        """Those of some items of which a part lies outside: for `forget_replaced`, when they were changed or deleted."""
        return [item for item in self._table.get_many(places).values() if item.get("blob")]

    def forget_replaced(self, items: Sequence[Item]) -> None:
        """Take away what lay outside of items as they were read, unless they still refer to it."""
        for item in items:
            now = self._table.get(Key(str(item["pk"]), str(item["sk"])))
            if now is None or now.get("blob") != item["blob"]:
                self.forget_blobs([item])

    def forget_blobs(self, items: Sequence[Item]) -> None:
        """Take away what lay outside of items that are gone."""
        for item in items:
            if blob := str(item.get("blob", "")):
                self._blobs.delete(blob)


def _referred(sk: str, kept: Set[str]) -> bool:
    """Whether a fork needs this item of the log that it shares."""
    noun, _, name = sk.partition("#")
    return bool(kept) if noun == "FORK" else noun == "MSG" and name in kept
