"""Budgets in the table: their records, and the counters of their usage.

A counter is part of the transaction that uses something, so only committed usage is counted. The counters of a month hold those
of its days: `tokens` and `tokens07` are the tokens of the month and of its seventh day. They are integers that transactions add
to, and no transaction has a condition on them. The number of runs at once has one: a transaction that takes a slot fails where
there is none.

A subject without a budget has no counters. The records of budgets are remembered for `FRESH_SECONDS`, and so is that there is
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from hibernaut.domain.budgets import NANO, BudgetStanding, BudgetWindow, Spending
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ABSENT, Change, Delete, Item, Key, Op, Put, Term, Update
from hibernaut.schemas.access.budget import BudgetUse, RunBudgets, RunSlot, StoredBudget
from hibernaut.schemas.immutable import immutable
from hibernaut.store.access import budget_keys
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.lru_cache import LruCache, TenantCache
from hibernaut.store.table.tenant_table import TenantTable

FRESH_SECONDS = 5.0
"""Seconds for which a record that was read is used again."""
MOST_REMEMBERED = 4096
"""The largest number of remembered records in a process; the oldest is forgotten."""
RETENTION = timedelta(days=7)
"""The time for which the counters of a month are retained after its end."""
MARK_LIFE = timedelta(hours=1)
"""The time to live of the mark of a call without a run: much longer than its write is repeated."""
OPEN = "open"
"""The attribute with the number of runs that hold a slot."""


@immutable
class RememberedBudget:
    """A record as it was read at a moment of the process's clock. `budget` None: there is none."""

    budget: StoredBudget | None
    at: float


def budget_cache() -> LruCache[RememberedBudget]:
    """A cache for the budgets of all tenants in a process."""
    return LruCache(MOST_REMEMBERED, lambda _: 1)


class BudgetStore:
    """Budgets and counters of one tenant. Reads raise StoreUnavailable (`store.retries`)."""

    def __init__(self, table: TenantTable, codec: Codec, clock: Clock, cache: TenantCache[RememberedBudget]) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._clock = clock
        self._known = cache

    def get(self, subject: str) -> StoredBudget | None:
        """The budget of a subject as it is stored."""
        item = self._table.get(budget_keys.budget(self._tenant, subject))
        return self._codec.record(StoredBudget, item) if item else None

    def page(self, *, after: str | None = None, limit: int | None = None) -> list[StoredBudget]:
        """The budgets whose subjects are greater than `after`, in the order of their subjects."""
        items = self._table.query(budget_keys.budget(self._tenant, "").pk, after=after, limit=limit)
        return [self._codec.record(StoredBudget, item) for item in items]

    def put(self, budget: StoredBudget) -> Put:
        """The change that sets a subject's budget."""
        return Put(self._codec.item(budget_keys.budget(self._tenant, budget.subject), budget))

    def delete(self, subject: str) -> Delete:
        """The change that removes a subject's budget. Its counters stay until their time to live ends."""
        return Delete(budget_keys.budget(self._tenant, subject))

    def forget(self, subject: str) -> None:
        """Drop a subject from the cache, because this process has changed its budget."""
        self._known.forget(subject)

    def reading(self, subjects: Iterable[str], now: datetime, default: StoredBudget | None = None) -> BudgetReading:
        """A read of these subjects' budgets and counters. `default`: the budget of its subject where none is stored."""
        return BudgetReading(self, tuple(subjects), BudgetWindow.at(now), default)

    def standings(self, budgets: Sequence[StoredBudget], now: datetime) -> list[BudgetStanding]:
        """The usage of budgets, in their order."""
        window = BudgetWindow.at(now)
        found = self._table.get_many([key for each in budgets for key in self.counters(each.subject, window)])
        return [self.standing(each, found, window) for each in budgets]

    def counters(self, subject: str, window: BudgetWindow) -> list[Key]:
        """The keys of a subject's counters."""
        shards = [budget_keys.used(self._tenant, subject, shard, window.month) for shard in range(budget_keys.SHARDS)]
        return [*shards, budget_keys.open_runs(self._tenant, subject)]

    def standing(self, budget: StoredBudget, items_by_key: Mapping[Key, Item], window: BudgetWindow) -> BudgetStanding:
        """The usage of a budget, from the items of its counters."""
        *shards, runs = (items_by_key.get(key) for key in self.counters(budget.subject, window))
        items = [item for item in shards if item is not None]

        def total(name: str) -> int:
            return sum(int(item.get(name, 0)) for item in items)

        day = window.day
        used = BudgetUse(
            concurrent_runs=int(runs[OPEN]) if runs is not None else 0,
            steps_per_day=total(f"steps{day}"),
            steps_per_month=total("steps"),
            tokens_per_day=total(f"tokens{day}"),
            tokens_per_month=total("tokens"),
            cost_per_day=Decimal(total(f"cost{day}")) / NANO,
            cost_per_month=Decimal(total("cost")) / NANO,
            unpriced_calls_per_day=total(f"unpriced{day}"),
            unpriced_calls_per_month=total("unpriced"),
        )
        reported = frozenset(name for item in items for name in item if name.startswith("told_"))
        return BudgetStanding(budget, used, reported)

    def remembered(self, subject: str) -> RememberedBudget | None:
        """The cached budget of a subject, if it is fresh."""
        entry = self._known.get(subject)
        return entry if entry is not None and self._clock.monotonic() - entry.at < FRESH_SECONDS else None

    def read(self, keys: Sequence[Key]) -> Mapping[Key, Item]:
        """The items that exist among `keys`."""
        return self._table.get_many(keys) if keys else {}

    def record_key(self, subject: str) -> Key:
        """The key of a budget's record, for a read in a caller's batch."""
        return budget_keys.budget(self._tenant, subject)

    def remember(self, subject: str, item: Item | None) -> StoredBudget | None:
        """The budget of an item that was read now, which is remembered."""
        budget = self._codec.record(StoredBudget, item) if item else None
        self._known.keep(subject, RememberedBudget(budget, self._clock.monotonic()))
        return budget

    # changes

    def open_counter(self, subject: str) -> Put:
        """The change that begins to count the runs of a subject. It fails if they are counted."""
        key = budget_keys.open_runs(self._tenant, subject)
        return Put({"pk": key.pk, "sk": key.sk, OPEN: 0}, ABSENT)

    def taken(self, budgets: RunBudgets | None) -> list[Change]:
        """The changes by which a new run takes its slots. Condition: each subject has a free one."""
        return [self._take(slot) for slot in budgets.slots] if budgets else []

    def released(self, budgets: RunBudgets | None) -> list[Change]:
        """The changes by which a run that ends gives its slots back. The caller's conditions ensure that the run ends once."""
        return [self._release(slot) for slot in budgets.slots] if budgets else []

    def exchanged(self, ending: RunBudgets | None, beginning: RunBudgets | None) -> list[Change]:
        """The changes of a transaction that ends one run and creates another: a slot that both hold goes from one to the
        other.
        """
        before = {slot.subject: slot for slot in ending.slots} if ending else {}
        after = {slot.subject: slot for slot in beginning.slots} if beginning else {}
        freed_slots = [self._release(slot) for subject, slot in before.items() if subject not in after]
        return [*freed_slots, *(self._take(slot) for subject, slot in after.items() if subject not in before)]

    def spent(self, budgets: RunBudgets | None, run_id: str, spending: Spending, now: datetime) -> list[Change]:
        """The changes that add a spending of a run to the counters of its subjects."""
        if budgets is None or not spending:
            return []
        window = BudgetWindow.at(now)
        figures = {
            "steps": spending.steps,
            "tokens": spending.tokens,
            "cost": spending.nanodollars,
            "unpriced": spending.unpriced,
        }
        increments = {f"{name}{day}": figure for name, figure in figures.items() if figure for day in ("", window.day)}
        ttl = int((window.month_ends + RETENTION).timestamp())
        shard = budget_keys.shard_of(run_id)
        return [
            Update(budget_keys.used(self._tenant, subject, shard, window.month), set={"ttl": ttl}, add=increments)
            for subject in budgets.subjects
        ]

    def spent_alone(self, budgets: RunBudgets | None, token: str, spending: Spending, now: datetime) -> list[Change]:
        """The changes that add a spending without a run. The mark under the writer's token counts a repeated write once."""
        increments = self.spent(budgets, token, spending, now)
        if not increments:
            return []
        key = budget_keys.call(self._tenant, token)
        mark = Put({"pk": key.pk, "sk": key.sk, "wt": token, "ttl": int((now + MARK_LIFE).timestamp())}, ABSENT)
        return [mark, *increments]

    def mark_reported(self, subject: str, mark: str, now: datetime) -> Update:
        """The change that records a crossing as reported. It fails if another process has reported it."""
        window = BudgetWindow.at(now)
        ttl = int((window.month_ends + RETENTION).timestamp())
        return Update(
            budget_keys.used(self._tenant, subject, 0, window.month),
            set={mark: True, "ttl": ttl},
            when=(Term(mark, Op.MISSING),),
        )

    def _take(self, slot: RunSlot) -> Update:
        key = budget_keys.open_runs(self._tenant, slot.subject)
        return Update(key, add={OPEN: 1}, when=(Term(OPEN, Op.LT, slot.limit),))

    def _release(self, slot: RunSlot) -> Update:
        return Update(budget_keys.open_runs(self._tenant, slot.subject), add={OPEN: -1})


class BudgetReading:
    """One read of the budgets of some subjects and of their counters, as part of a batch that the caller sends anyway.

    The caller reads `keys` and passes the result to `take`. A budget that was not remembered costs a read of its counters in
    `standings`.
    """

    def __init__(
        self, store: BudgetStore, subjects: Sequence[str], window: BudgetWindow, default: StoredBudget | None = None
    ) -> None:
        self._store = store
        self._subjects = subjects
        self._window = window
        self._default = default
        self._budgets: dict[str, StoredBudget | None] = {}
        self._unknown: list[str] = []
        self._found: dict[Key, Item] = {}
        for subject in subjects:
            cached = store.remembered(subject)
            if cached is None:
                self._unknown.append(subject)
            else:
                self._budgets[subject] = cached.budget
        counter_keys = [key for subject in subjects if self._of(subject) for key in store.counters(subject, window)]
        self.keys: list[Key] = [*(store.record_key(subject) for subject in self._unknown), *counter_keys]
        self._read = frozenset(counter_keys)
        self._taken = False

    def take(self, found: Mapping[Key, Item]) -> None:
        """The items that exist among `keys`; others are ignored."""
        for subject in self._unknown:
            self._budgets[subject] = self._store.remember(subject, found.get(self._store.record_key(subject)))
        self._unknown, self._taken = [], True
        self._found.update((key, item) for key, item in found.items() if key in self._read)

    def standings(self) -> list[BudgetStanding]:
        """The usage of the budgets that exist, in the order of the subjects. Reads the counters that `take` did not receive."""
        if not self._taken:
            self.take(self._store.read(self.keys))
        budgets = [budget for subject in self._subjects if (budget := self._of(subject)) is not None]
        unread = [key for each in budgets for key in self._store.counters(each.subject, self._window) if key not in self._read]
        self._found.update(self._store.read(unread))
        self._read |= frozenset(unread)
        return [self._store.standing(each, self._found, self._window) for each in budgets]

    def counts_runs(self, subject: str) -> bool:
        """Whether the runs of a subject are counted already."""
        return self._store.counters(subject, self._window)[-1] in self._found

    def _of(self, subject: str) -> StoredBudget | None:
        budget = self._budgets.get(subject)
        stands_in = budget is None and self._default is not None and self._default.subject == subject
        return self._default if stands_in and subject not in self._unknown else budget
