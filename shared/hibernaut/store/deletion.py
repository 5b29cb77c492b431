"""Deleting what an agent, a conversation or a run leaves behind: logs, runs and their parts, page by page, with their blobs.

An agent or a conversation is gone before this begins, so nothing of it is shown any more. A tombstone is written in the transaction in
which it goes, and removed when nothing is left: where a worker dies, whoever finds the tombstone continues. A single run goes the other
way round, its parts first: as long as it is shown it can be deleted again.

What is deleted is never read again. Each page is found by a bounded query and deleted before the next one is asked for; a list row goes
together with the last of what it leads to; and where a log keeps rows that a fork refers to, the tombstone remembers how far the log was
read. So every attempt that survives a few operations makes progress, and the work of all attempts together grows with what there is to
delete, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from hibernaut.ports.table import MAX_CHANGES, PRESENT, Change, ConditionFailed, Delete, Item, Key, Put, Update, Value, eq
from hibernaut.schemas.conversation import Head, Segment
from hibernaut.schemas.run import Run
from hibernaut.store import keys
from hibernaut.store.codec import freed
from hibernaut.store.logs import LogReader
from hibernaut.store.search_outbox import SEARCHED_ROLES, SearchOutbox
from hibernaut.store.tenant_table import TenantBlobs, TenantTable
from hibernaut.store.writer import Writer

TAKEN_UP_MS = 300_000
"""Milliseconds after which the sweep continues a deletion."""
RUNS_AT_ONCE = 16
"""Runs of an agent whose deletions share transactions: an attempt that survives about twice as many operations makes progress."""


class DeletionTombstone(NamedTuple):
    """What a deletion may have left: of an agent everything that lies under its id, of a conversation (else) these logs.

    `log` and `after`: the log that was being deleted, and the sort key up to which it holds only rows that forks refer to.
    """

    agent_id: str
    logs: tuple[str, ...] = ()
    log: str = ""
    after: str = ""

    def to_do(self) -> tuple[str, ...]:
        """The logs that are not deleted yet."""
        return self.logs[self.logs.index(self.log) :] if self.log in self.logs else self.logs


class Deletion:
    """Removes what a deleted agent or conversation leaves."""

    def __init__(self, table: TenantTable, blobs: TenantBlobs, writer: Writer, unindexed: SearchOutbox, logs: LogReader) -> None:
        self._table = table
        self._tenant = table.tenant
        self._blobs = blobs
        self._writer = writer
        self._unindexed = unindexed
        self._logs = logs

    def head(self, head: Head) -> Delete:
        """The change that ends a conversation, on the condition that no run owns it or waits, and nothing was said meanwhile."""
        free = eq(owner="", pending="", waiting=0, version=head.version)
        key = keys.head(self._tenant, head.id)
        return Delete(key, free, freed(key, head))

    def message(self, conversation: str, message_id: str) -> Delete:
        """The change that takes one row out of a log: the system message that another one replaces."""
        key = keys.message(self._tenant, conversation, message_id)
        item = self._table.get(key)
        return Delete(key, frees=str(item["blob"]) if item else "")

    def log(self, agent_id: str, conversation: str) -> None:
        """Delete the partition of a deleted conversation whose log no fork shares."""
        for page in self._pages(keys.head(self._tenant, conversation).pk, MAX_CHANGES - 1, ("blob", "role")):
            self._delete(page, self._forgotten(agent_id, conversation, page))

    def shared_log(self, identifier: str, tombstone: DeletionTombstone, conversation: str, segments: Sequence[Segment]) -> None:
        """Everything of a conversation that has ended, but the rows of `segments`, which living forks refer to, and the forks' marks.

        `tombstone` is that of `identifier`, which remembers how far this came.
        """
        after = tombstone.after if tombstone.log == conversation else ""
        for page in self._pages(keys.head(self._tenant, conversation).pk, MAX_CHANGES - 2, ("blob", "role"), after):
            kept = self._logs.shared(segments, page)
            gone = [item for item in page if not _is_referred(str(item["sk"]), kept)]
            reached = _reached(self._tenant, identifier, conversation, str(page[-1]["sk"]))
            self._delete(gone, [*self._forgotten(tombstone.agent_id, conversation, gone), reached])

    def reach(self, identifier: str, conversation: str) -> None:
        """Record that the logs before this one are deleted. Does nothing where another worker has removed the tombstone."""
        with suppress(ConditionFailed):
            self._writer.write(_reached(self._tenant, identifier, conversation, ""))

    def agent(self, agent_id: str) -> None:
        """Delete everything of an agent: the runs of its list rows, then its log, then the other items of its partition."""
        own = keys.agent(self._tenant, agent_id).pk
        for rows in self._pages(own, RUNS_AT_ONCE, ("sk",), prefix="RUN#"):
            self._runs(rows)
        self.log(agent_id, agent_id)
        for page in self._pages(own, MAX_CHANGES, ("blob",)):
            self._delete(page)

    def _runs(self, rows: Sequence[Item]) -> None:
        """The runs of some list rows: each row goes with or after the last part of its run."""
        waiting: list[Item] = []
        for row in rows:
            for page in self._pages(keys.run(self._tenant, keys.last_part(str(row["sk"]))).pk, MAX_CHANGES, ("blob",)):
                waiting = self._delete_full([*waiting, *page])
            waiting = self._delete_full([*waiting, row])
        self._delete(waiting)

    def tombstone(self, identifier: str, left: DeletionTombstone, now: datetime) -> Put:
        """The change that goes with the end of an agent or a conversation."""
        key, due_ms = keys.gone(self._tenant, identifier), int(now.timestamp() * 1000) + TAKEN_UP_MS
        named: dict[str, Value] = {"agent": left.agent_id, "logs": " ".join(left.logs), "log": left.log, "after": left.after}
        return Put({"pk": key.pk, "sk": key.sk, **named, **keys.due(identifier, due_ms)})

    def left(self, identifier: str) -> DeletionTombstone | None:
        """The tombstone of a deleted agent or conversation; None: the deletion is complete."""
        item = self._table.get(keys.gone(self._tenant, identifier))
        if item is None:
            return None
        logs = tuple(str(item["logs"]).split())
        return DeletionTombstone(str(item["agent"]), logs, str(item.get("log", "")), str(item.get("after", "")))

    def done(self, identifier: str) -> None:
        """Remove the tombstone: the deletion is complete."""
        self._writer.write(Delete(keys.gone(self._tenant, identifier)))

    def run(self, run: Run) -> None:
        """A run that has ended, with all its parts and its row in the lists; what it said stays in the log."""
        key, row = keys.run(self._tenant, run.id), keys.run_row(self._tenant, run.agent_id, run.id)
        own: list[Item] = []
        for page in self._pages(key.pk, MAX_CHANGES, ("blob",)):
            own += [item for item in page if item["sk"] == key.sk]
            self._delete([item for item in page if item["sk"] != key.sk])
        self._delete(own, [Delete(row)])

    def _pages(self, pk: str, size: int, names: Sequence[str], after: str = "", *, prefix: str = "") -> Iterator[list[Item]]:
        """The items of a partition, in pages: whoever gets one deals with it before the next one is read."""
        while page := self._table.query(pk, prefix=prefix, after=after or None, limit=size, names=names):
            yield page
            if len(page) < size:
                return
            after = str(page[-1]["sk"])

    def _forgotten(self, agent_id: str, conversation: str, rows: Sequence[Item]) -> list[Put]:
        """The pointer by which the index forgets rows of a log."""
        ids = [keys.last_part(str(item["sk"])) for item in rows if item.get("role") in SEARCHED_ROLES]
        return self._unindexed.pointer(agent_id, "message", ids, within=conversation, gone=True)

    def _delete_full(self, items: list[Item]) -> list[Item]:
        """Delete one full transaction of items and return the others; delete nothing where they do not fill one."""
        if len(items) < MAX_CHANGES:
            return items
        self._delete(items[:MAX_CHANGES])
        return items[MAX_CHANGES:]

    def _delete(self, items: Sequence[Item], beside: Sequence[Change] = ()) -> None:
        """One transaction, and afterwards the blobs that the items name."""
        changes = [*(Delete(Key(str(item["pk"]), str(item["sk"]))) for item in items), *beside]
        if changes:
            self._writer.write(*changes)
        self.forget_blobs(items)

    def forget_blobs(self, items: Sequence[Item]) -> None:
        """Delete the blobs that deleted items name. Raises: OSError."""
        for item in items:
            if blob := str(item.get("blob", "")):
                self._blobs.delete(blob)


def _reached(tenant: str, identifier: str, log: str, after: str) -> Update:
    """The change by which a tombstone remembers how far the deletion came. Fails where another worker is done."""
    return Update(keys.gone(tenant, identifier), set={"log": log, "after": after}, when=PRESENT)


def _is_referred(sk: str, kept: set[str]) -> bool:
    """Whether a fork needs this item of the log that it shares."""
    noun, _, name = sk.partition("#")
    return noun == "FORK" or (noun == "MSG" and name in kept)
