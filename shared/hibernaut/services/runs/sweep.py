"""The sweep: no run stays open for ever (invariant 7). It restarts overdue runs and other due work, and closes runs that do not
end.

It reads the index of due items page by page, a page of every shard at a time, and handles the items of a page on several threads.
The shards take turns, each turn begins with the item that has waited longest, and an item that nothing can be done about is
postponed. So no item waits behind the same item twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import zip_longest

from hibernaut.ports.storage.table import ConditionFailed, TableError
from hibernaut.schemas.errors import StoreUnavailable, place_of
from hibernaut.services.host import Host
from hibernaut.services.parallel_map import in_parallel
from hibernaut.services.resting.idle_agents import IdleAgents
from hibernaut.services.resting.old_messages import OldMessages
from hibernaut.services.runs.tenant_sweep import SweepResult, TenantSweep, Took
from hibernaut.store.due_index import DueItem
from hibernaut.store.identities.erasure_keys import ERASURE
from hibernaut.store.runs.batch_keys import BATCH
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from hibernaut.store.templates.import_keys import IMPORT

MARGIN = 12.0
"""Seconds that must be left for one more item: two operations on the table that are retried to the end of their budget."""
PAGE = 100
"""The largest number of items of a shard that the sweep reads at a time."""
POSTPONED_MS = 30_000
"""Milliseconds by which an item is postponed that nothing could be done about: less than the time between two sweeps."""
SLOW = (keys.GONE, keys.BUILD, BATCH, IMPORT, ERASURE)
"""The sort keys of the items that may take long: deletions, the marking of older data, batches of messages, imports, and erasures
of persons.
"""
Act = Callable[[TenantSweep, DueItem], Took]
TimeLeft = Callable[[], float]
logger = logging.getLogger(__name__)


class Sweep:
    """Sweeps the overdue items of all tenants."""

    def __init__(self, stores: Stores, host: Host, sweep_of: Callable[[str], TenantSweep]) -> None:
        """`sweep_of` returns the sweep of a tenant."""
        self._due = stores.due
        self._blob_collector = stores.blob_collector
        self._host = host
        idle = IdleAgents(stores, host.clock, host.rest_after) if host.rest_after else None
        old = OldMessages(stores, host.clock, host.retention) if host.retention else None
        self._rounds = [one for one in (idle, old) if one is not None]
        self.of = sweep_of

    def run(self, *, everything: bool = False, time_left: TimeLeft | None = None) -> SweepResult:
        """Take up every overdue item. `everything`: take up every open item, as a host that runs alone does at its start.

        `time_left` returns the seconds that the host has left: with less than `MARGIN`, the sweep stops, and the remaining items
        stay due for the next one.
        """
        outcomes: dict[Took, list[DueItem]] = {
            name: [] for name in ("started", "closed", "ended", "events", "schedules", "held", "left")
        }
        for page in self._due.pages(None if everything else self._now_ms(), PAGE):
            found = self._each(_take_up, _in_turn(page), time_left)
            for name, items in outcomes.items():
                items += [item for item, outcome in found if outcome == name]
            if sum(map(len, page)) > len(found):
                break
        if outcomes["events"]:
            self._host.event_delivery.start([item.key for item in outcomes["events"]])
        if outcomes["schedules"]:
            now_ms = self._now_ms()
            self._host.schedule_workers.start([item.key for item in outcomes["schedules"] if item.due_ms <= now_ms])
        # These come last because a callback may be slow, and a deletion or the marking of older data may be large.
        self._each(_clear_up, [item for item in outcomes["ended"] if item.key.sk not in SLOW], time_left)
        self._each(_clear_up, [item for item in outcomes["ended"] if item.key.sk in SLOW], time_left)
        if not _is_short(time_left):
            self._collect()
            for one in self._rounds:
                self._go_round(one, time_left)
        started, closed = len(outcomes["started"]), len(outcomes["closed"])
        if started or closed:
            logger.info("runs swept", extra={"started": started, "closed": closed})
        return SweepResult(started, closed)

    def restart_waiting(self, *, time_left: TimeLeft | None = None) -> SweepResult:
        """Take up every open run that no worker holds and that is due or waits for its next restart, because an operator has
        repaired the cause of its failed executions. Other due work is left to `run`.
        """
        now_ms, outcomes = self._now_ms(), list[Took]()

        def act(sweep: TenantSweep, item: DueItem) -> Took:
            return sweep.take_up(item.key) if item.due_ms <= now_ms or sweep.waits(item.key) else "held"

        for page in self._due.pages(None, PAGE):
            runs = [item for item in _in_turn(page) if item.key.sk == keys.RUN]
            found = self._each(act, runs, time_left)
            outcomes += [outcome for _, outcome in found]
            if len(found) < len(runs):
                break
        return SweepResult(outcomes.count("started"), outcomes.count("closed"))

    def _each(self, act: Act, items: Sequence[DueItem], time_left: TimeLeft | None) -> list[tuple[DueItem, Took]]:
        """Apply `act` to the items until less than `MARGIN` is left. Returns the handled items with their outcomes."""
        found = in_parallel(
            self._host.threads, lambda item: (item, self._tried(act, item)), items, until=lambda: _is_short(time_left)
        )
        if len(found) < len(items):
            logger.warning("sweep stopped in time", extra={"items_left": len(items) - len(found)})
        return found

    def _tried(self, act: Act, item: DueItem) -> Took:
        """Apply `act` to one item. An error is logged, not raised, so that one unreadable item does not stop the sweep."""
        try:
            outcome = act(self.of(keys.tenant_of(item.key.pk)), item)
        except Exception as error:  # noqa: BLE001  an unreadable record may raise any error
            fields = {"run_id": keys.last_part(item.key.pk), "error": type(error).__qualname__, "place": place_of(error)}
            logger.error("run could not be swept", extra=fields)
            outcome = "left"
        now_ms = self._now_ms()
        if outcome == "left" and item.due_ms <= now_ms:
            with suppress(ConditionFailed, StoreUnavailable, TableError):
                self._due.postpone(item, now_ms + POSTPONED_MS)
        return outcome

    def _collect(self) -> None:
        """Delete a batch of unreferenced blobs. An error is logged, not raised."""
        try:
            if deleted := self._blob_collector.collect():
                logger.info("blobs collected", extra={"deleted": deleted})
        except Exception as error:  # noqa: BLE001  a failed collection of blobs must not stop the sweep of runs
            fields = {"error": type(error).__qualname__, "place": place_of(error)}
            logger.error("blobs could not be collected", extra=fields)

    def _go_round(self, work: IdleAgents | OldMessages, time_left: TimeLeft | None) -> None:
        """Put idle agents to rest, or pack or delete what is old, as far as time permits. An error is logged, not raised."""
        try:
            work.go_on(lambda: _is_short(time_left))
        except Exception as error:  # noqa: BLE001  a failed round must not stop the sweep of runs
            fields = {"round": type(work).__name__, "error": type(error).__qualname__, "place": place_of(error)}
            logger.error("round of the sweep failed", extra=fields)

    def _now_ms(self) -> int:
        return int(self._host.clock.now().timestamp() * 1000)


def _take_up(sweep: TenantSweep, item: DueItem) -> Took:
    return sweep.take_up(item.key)


def _clear_up(sweep: TenantSweep, item: DueItem) -> Took:
    return sweep.clear_up(item.key)


def _in_turn(page: Sequence[Sequence[DueItem]]) -> list[DueItem]:
    """The items of a page: the first of each shard, then the second of each, and so on. Within a turn, the oldest comes first."""
    turns = zip_longest(*page)
    return [item for turn in turns for item in sorted(filter(None, turn), key=lambda item: item.at)]


def _is_short(time_left: TimeLeft | None) -> bool:
    return time_left is not None and time_left() < MARGIN
