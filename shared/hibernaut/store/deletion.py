"""Deletes the remains of an agent, a conversation or a run, page by page: logs, runs and their parts, with their blobs.

The agent or the conversation itself is deleted before, so nothing of it is visible any more. The transaction that deletes it
writes a tombstone, which is removed when nothing remains: if a worker dies, another one that finds the tombstone continues. A
single run is deleted in the other order, its parts first: while the run is visible, it can be deleted again.

A deleted item is never read again. Each page is found by a bounded query and deleted before the next query. A list row is deleted
together with the last of the items that it leads to. If a log has rows that a fork shares, the tombstone records how far the log
was read. So every attempt that survives a few operations makes progress, and the total work of all attempts is linear in the
number of items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from hibernaut.ports.storage.table import MAX_CHANGES, PRESENT, Change, ConditionFailed, Delete, Item, Key, Put, Update, Value, eq
from hibernaut.schemas.agents.conversation import Head, Segment
from hibernaut.schemas.runs.run import Run
from hibernaut.store.access import budget_keys
from hibernaut.store.access.rates import TenantRates
from hibernaut.store.memory.search_outbox import SEARCHED_ROLES, SearchOutbox
from hibernaut.store.schedules import schedule_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import freed
from hibernaut.store.table.lists.logs import LogReader
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable
from hibernaut.store.table.writer import Writer

TAKEN_UP_MS = 300_000
"""Milliseconds after which the sweep continues a deletion."""
RUNS_AT_ONCE = 16
"""The number of an agent's runs that share deletion transactions. An attempt that survives about twice as many operations makes
progress.
"""


class DeletionTombstone(NamedTuple):
    """The possible remains of a deletion: of an agent everything under its id; of a conversation the logs in `logs`.

    `log`, `after`: the log in deletion, and the sort key up to which it has only rows that forks share.
    """

    agent_id: str
    logs: tuple[str, ...] = ()
    log: str = ""
    after: str = ""

    def to_do(self) -> tuple[str, ...]:
        """The logs that are not deleted yet."""
        return self.logs[self.logs.index(self.log) :] if self.log in self.logs else self.logs


class Deletion:
    """Deletes the remains of agents, conversations and runs.

    Its methods raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be deleted. A repeated call
    continues.
    """

    def __init__(
        self,
        table: TenantTable,
        blobs: TenantBlobs,
        writer: Writer,
        search_outbox: SearchOutbox,
        logs: LogReader,
        rates: TenantRates,
    ) -> None:
        self._table = table
        self._tenant = table.tenant
        self._blobs = blobs
        self._writer = writer
        self._search_outbox = search_outbox
        self._logs = logs
        self._rates = rates

    def head(self, head: Head) -> Delete:
        """The change that deletes a head. Conditions: no run owns the conversation or waits in its queue, no approval is pending,
        and the version is that of `head`.
        """
        free = eq(owner="", pending="", waiting=0, version=head.version)
        key = keys.head(self._tenant, head.id)
        return Delete(key, free, freed(key, head))

    def message(self, conversation: str, message_id: str) -> Delete:
        """The change that deletes one row of a log: a system message that another row replaces."""
        key = keys.message(self._tenant, conversation, message_id)
        item = self._table.get(key)
        return Delete(key, frees=str(item["blob"]) if item else "")

    def old_rows(self, head: Head, rows: Sequence[Item]) -> Head:
        """Delete rows of a conversation's log that belong to no window and no fork, and count them. Returns the head afterwards.

        Raises: ConditionFailed if another request writes to the conversation, or its head is not as read.
        """
        idle = eq(owner="", pending="", waiting=0, version=head.version)
        count = Update(keys.head(self._tenant, head.id), add={"version": 1, "messages": -len(rows)}, when=idle)
        self._delete(rows, [count, *self._forgotten(head.agent_id, head.id, rows)])
        return head.model_copy(update={"version": head.version + 1, "messages": head.messages - len(rows)})

    def log(self, agent_id: str, conversation: str) -> None:
        """Delete the partition of a deleted conversation whose log no fork shares."""
        for page in self._pages(keys.head(self._tenant, conversation).pk, MAX_CHANGES - 1, ("blob", "role")):
            self._delete(page, self._forgotten(agent_id, conversation, page))

    def shared_log(self, identifier: str, tombstone: DeletionTombstone, conversation: str, segments: Sequence[Segment]) -> None:
        """Delete the partition of a deleted conversation except the rows of `segments`, which existing forks share, and the
        forks' marks.

        `tombstone`: the tombstone of `identifier`, which records the progress.
        """
        after = tombstone.after if tombstone.log == conversation else ""
        for page in self._pages(keys.head(self._tenant, conversation).pk, MAX_CHANGES - 2, ("blob", "role"), after):
            shared = self._logs.shared(segments, page)
            unshared = [item for item in page if not _is_shared(str(item["sk"]), shared)]
            progress = _reached(self._tenant, identifier, conversation, str(page[-1]["sk"]))
            self._delete(unshared, [*self._forgotten(tombstone.agent_id, conversation, unshared), progress])

    def reach(self, identifier: str, conversation: str) -> None:
        """Record that the logs before this one are deleted. Does nothing if another worker has removed the tombstone."""
        with suppress(ConditionFailed):
            self._writer.write(_reached(self._tenant, identifier, conversation, ""))

    def agent(self, agent_id: str) -> None:
        """Delete everything of an agent: the runs and schedules of its list rows, its log, the other items of its partition, its
        limit on requests per second. Raises: Conflict if other requests keep changing such limits.
        """
        own = keys.agent(self._tenant, agent_id).pk
        for rows in self._pages(own, RUNS_AT_ONCE, ("sk",), prefix="RUN#"):
            self._runs(rows)
        for rows in self._pages(own, RUNS_AT_ONCE, ("sk",), prefix=schedule_keys.ROW):
            self._schedules(rows)
        self.log(agent_id, agent_id)
        for page in self._pages(own, MAX_CHANGES, ("blob",)):
            self._delete(page)
        self._rates.limit(agent_id, None)

    def _runs(self, rows: Sequence[Item]) -> None:
        """Delete the runs of these list rows. Each row is deleted with or after the last part of its run."""
        pending: list[Item] = []
        for row in rows:
            for page in self._pages(keys.run(self._tenant, keys.last_part(str(row["sk"]))).pk, MAX_CHANGES, ("blob",)):
                pending = self._delete_full([*pending, *page])
            pending = self._delete_full([*pending, row])
        self._delete(pending)

    def _schedules(self, rows: Sequence[Item]) -> None:
        """Delete the schedules of these list rows, with their rows in the list of the tenant."""
        for row in rows:
            schedule_id = keys.last_part(str(row["sk"]))
            key, tenant_row = (
                schedule_keys.schedule(self._tenant, schedule_id),
                schedule_keys.tenant_row(self._tenant, schedule_id),
            )
            schedule_items = [item for item in [self._table.get(key)] if item is not None]
            self._delete([*schedule_items, row], [Delete(tenant_row)])

    def budget(self, agent_id: str) -> Delete:
        """The change that deletes an agent's budget, in the transaction that deletes the agent."""
        return Delete(budget_keys.budget(self._tenant, agent_id))

    def tombstone(self, identifier: str, content: DeletionTombstone, now: datetime) -> Put:
        """The change that writes a tombstone, in the transaction that deletes the agent or the conversation."""
        key, due_ms = keys.gone(self._tenant, identifier), int(now.timestamp() * 1000) + TAKEN_UP_MS
        attributes: dict[str, Value] = {
            "agent": content.agent_id,
            "logs": " ".join(content.logs),
            "log": content.log,
            "after": content.after,
        }
        return Put({"pk": key.pk, "sk": key.sk, **attributes, **keys.due(identifier, due_ms)})

    def open_tombstone(self, identifier: str) -> DeletionTombstone | None:
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
        """Delete an ended run with its parts and its list row. Its messages stay in the log."""
        key, row = keys.run(self._tenant, run.id), keys.run_row(self._tenant, run.agent_id, run.id)
        own: list[Item] = []
        for page in self._pages(key.pk, MAX_CHANGES, ("blob",)):
            own += [item for item in page if item["sk"] == key.sk]
            self._delete([item for item in page if item["sk"] != key.sk])
        self._delete(own, [Delete(row)])

    def _pages(self, pk: str, size: int, names: Sequence[str], after: str = "", *, prefix: str = "") -> Iterator[list[Item]]:
        """The items of a partition in pages. The caller deletes a page before the next query."""
        while page := self._table.query(pk, prefix=prefix, after=after or None, limit=size, names=names):
            yield page
            if len(page) < size:
                return
            after = str(page[-1]["sk"])

    def _forgotten(self, agent_id: str, conversation: str, rows: Sequence[Item]) -> list[Put]:
        """The pointer by which the indexer removes rows of a log from the index."""
        ids = [keys.last_part(str(item["sk"])) for item in rows if item.get("role") in SEARCHED_ROLES]
        return self._search_outbox.pointer(agent_id, "message", ids, within=conversation, gone=True)

    def _delete_full(self, items: list[Item]) -> list[Item]:
        """Delete one full transaction of items and return the others. Fewer items than that are returned undeleted."""
        if len(items) < MAX_CHANGES:
            return items
        self._delete(items[:MAX_CHANGES])
        return items[MAX_CHANGES:]

    def _delete(self, items: Sequence[Item], further: Sequence[Change] = ()) -> None:
        """Delete items in one transaction, and afterwards the blobs that they name. `further`: further changes of the
        transaction.
        """
        changes = [*(Delete(Key(str(item["pk"]), str(item["sk"]))) for item in items), *further]
        if changes:
            self._writer.write(*changes)
        self.forget_blobs(items)

    def forget_blobs(self, items: Sequence[Item]) -> None:
        """Delete the blobs that deleted items name. Raises: OSError."""
        for item in items:
            if blob := str(item.get("blob", "")):
                self._blobs.delete(blob)


def _reached(tenant: str, identifier: str, log: str, after: str) -> Update:
    """The change that records the progress in a tombstone. Condition: the tombstone exists."""
    return Update(keys.gone(tenant, identifier), set={"log": log, "after": after}, when=PRESENT)


def _is_shared(sk: str, shared: set[str]) -> bool:
    """Whether a fork needs this item of a log: a shared row, a pack that may hold its body, or a fork's mark."""
    noun, _, name = sk.partition("#")
    return noun in ("FORK", "PACK") or (noun == "MSG" and name in shared)
