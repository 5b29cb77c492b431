"""The rounds in which the sweep packs or deletes messages and runs that are older than the configured age.

The lists of a tenant's messages and runs are in the order of their making. A round continues where the last one ended, up to the
ids of that age, so each message and run is met once. What was in a window when it was met is packed with the next row of its log
that is met. Walks that delete begin anew once a week: only the retained entries are in the lists then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ConditionFailed, Item
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.ids import compose
from hibernaut.services.host import Retention
from hibernaut.services.resting.log_packing import LogPacking
from hibernaut.services.resting.pack_writer import Allowance, PackWriter
from hibernaut.services.resting.run_packing import RunPacking
from hibernaut.services.resting.tenant_rounds import ListWalk, TenantRounds
from hibernaut.store.conversations.messages import NOUN as MESSAGES
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import keys
from hibernaut.store.table.lists.logs import IdRange

RUNS = "RUNS"
ANEW = timedelta(days=7)
"""The time after which a walk that deletes begins again with the first entry, which is then a retained one."""
ROWS_AT_ONCE = 90
"""Rows that one transaction deletes."""


class OldMessages:
    """Packs or deletes the old messages and runs of all tenants."""

    def __init__(self, stores: Stores, clock: Clock, rule: Retention) -> None:
        self._rounds = TenantRounds(stores, clock, "RETENTION")
        self._clock = clock
        self._rule = rule

    def go_on(self, short: Callable[[], bool]) -> None:
        """Go on with the round, or begin one if it is due. Raises: StoreUnavailable, TableError."""
        self._rounds.go_on(self._of_tenant, short)

    def _of_tenant(self, stores: TenantStores, allowance: Allowance) -> bool:
        moment = self._clock.now() - self._rule.after
        edge, run_edge = _edge("message", moment), _edge("run", moment)
        work: ArchivalPass | DeletionPass
        anew = None if self._rule.mode == "archive" else ANEW
        match self._rule.mode:
            case "archive":
                work = ArchivalPass(stores, self._clock, edge, run_edge)
            case "delete":
                work = DeletionPass(stores, self._clock, edge)
        messages = ListWalk(stores, self._clock, MESSAGES, anew=anew).go_on(edge, work.message, allowance)
        runs = ListWalk(stores, self._clock, RUNS, anew=anew).go_on(run_edge, work.run, allowance)
        work.end()
        return messages and runs


class ArchivalPass:
    """Packs old messages and runs of one tenant, in one sweep. `edge`, `run_edge`: ids before which they are old."""

    def __init__(self, stores: TenantStores, clock: Clock, edge: str, run_edge: str) -> None:
        self._stores = stores
        packs = PackWriter(stores, clock)
        self._logs, self._runs = LogPacking(stores, packs), RunPacking(stores, packs)
        self._edge, self._run_edge = edge, run_edge
        self._seen: set[str] = set()

    def message(self, entry: Item, allowance: Allowance) -> bool:
        """Pack the old rows of the message's log that have left its window."""
        pk = str(entry["pk"])
        head = None if pk in self._seen else self._stores.conversations.head(keys.last_part(pk))
        end = outside(head, self._edge)
        if head is not None and end and not self._logs.pack(head, allowance, before=end):
            return False
        self._seen.add(pk)
        return True

    def run(self, entry: Item, allowance: Allowance) -> bool:
        """Pack the old runs of the run's agent."""
        pk = str(entry["pk"])
        if pk not in self._seen and not self._runs.pack(keys.last_part(pk), allowance, before=self._run_edge):
            return False
        self._seen.add(pk)
        return True

    def end(self) -> None:
        """Nothing is left to do."""


class DeletionPass:
    """Deletes old messages and runs of one tenant, in one sweep. `edge`: the id before which messages are old."""

    def __init__(self, stores: TenantStores, clock: Clock, edge: str) -> None:
        self._stores = stores
        self._packs = PackWriter(stores, clock)
        self._edge = edge
        self._seen: set[str] = set()
        self._changed: set[str] = set()

    def message(self, entry: Item, allowance: Allowance) -> bool:
        """Delete the old rows of the message's log that have left its window and are in no fork. A conversation in use is left to
        a later round.
        """
        pk = str(entry["pk"])
        head = None if pk in self._seen else self._stores.conversations.head(keys.last_part(pk))
        end = outside(head, self._edge)
        if head is not None and end:
            with suppress(ConditionFailed):
                if not self._deleted(head, end, allowance):
                    return False
        self._seen.add(pk)
        return True

    def _deleted(self, head: Head, end: str, allowance: Allowance) -> bool:
        """Whether all rows before `end` are gone. Raises: ConditionFailed if the conversation is in use."""
        stores, after = self._stores, ""
        shared = [one for fork in stores.conversations.forks(head.id) for one in fork.segments if one.conversation == head.id]
        while rows := stores.resting.rows(head.id, IdRange(after or None, end), ROWS_AT_ONCE, names=("role", "blob")):
            if allowance.over:
                return False
            allowance.rows -= len(rows)
            remaining = {*head.window.pinned, *(stores.conversations.logs.shared(shared, rows) if shared else ())}
            deleted = [row for row in rows if keys.last_part(str(row["sk"])) not in remaining]
            if deleted:
                head = stores.deletion.old_rows(head, deleted)
                self._changed.add(str(rows[0]["pk"]))
            after = keys.last_part(str(rows[-1]["sk"]))
        return True

    def run(self, entry: Item, allowance: Allowance) -> bool:
        """Delete a run that has ended, unless its approval is pending."""
        allowance.rows -= 1
        state = self._stores.runs.get(keys.last_part(str(entry["sk"])))
        if state is None or not state.ended:
            return True
        head = self._stores.conversations.head(state.run.conversation_id or state.run.agent_id)
        if head is None or head.pending != state.run.id:
            self._stores.deletion.run(state.run)
            self._changed.add(str(entry["pk"]))
        return True

    def end(self) -> None:
        """Take the packs apart that hold something deleted, so that its text is nowhere any more."""
        for pk in self._changed:
            self._packs.clear(pk)


def outside(head: Head | None, edge: str) -> str:
    """The id before which the rows of a log are old and have left its window; "": none have."""
    cut = head.window.cut if head else None
    return min(edge, f"{cut}~") if cut else ""


def _edge(prefix: str, moment: datetime) -> str:
    """An id that sorts before those that are made from this moment on."""
    return compose(prefix, int(moment.timestamp() * 1000), 0, 0)
