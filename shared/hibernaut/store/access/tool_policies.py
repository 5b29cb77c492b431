"""Tool policies in the table: one item with all policies of a tenant, and the counters of their rates."""

from __future__ import annotations

from datetime import datetime, timedelta

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ABSENT, ConditionFailed, Item, Op, Put, Term, Update, eq
from hibernaut.schemas.tools.tool_policy import CallRate, StoredToolPolicies, ToolPolicy
from hibernaut.store.access import tool_policy_keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lru_cache import TenantCache
from hibernaut.store.table.remembered_record import Remembered, RememberedRecord
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.table.writer import Writer

RETENTION = timedelta(days=1)
"""The time for which a counter is retained after its window."""
TRIES = 10
"""The largest number of attempts to count a call that others overtake."""


class ToolPolicyStore:
    """The tool policies of one tenant. `now`: what steps use of them, in their order. Reads raise StoreUnavailable
    (`store.table.retries`), and OSError if a blob cannot be read.
    """

    def __init__(
        self, table: TenantTable, codec: Codec, clock: Clock, cache: TenantCache[Remembered[tuple[ToolPolicy, ...]]]
    ) -> None:
        self._table = table
        self._codec = codec
        self._key = tool_policy_keys.policies(table.tenant)
        self.now = RememberedRecord(table, self._key, clock, cache, read=lambda item: tuple(self._read(item).policies), none=())

    def get(self) -> StoredToolPolicies:
        """The policies as they are stored; of version 0 if there never were any."""
        item = self._table.get(self._key)
        return self._read(item) if item is not None else StoredToolPolicies()

    def change(self, before: StoredToolPolicies, policies: list[ToolPolicy], token: str) -> Put:
        """The change to these policies. Condition: they are still as they were read."""
        after = StoredToolPolicies(policies=policies, version=before.version + 1)
        item = self._codec.item(self._key, after, version=after.version, wt=token)
        return Put(item, eq(version=before.version) if before.version else ABSENT, freed(self._key, before))

    def _read(self, item: Item) -> StoredToolPolicies:
        found = self._codec.record(StoredToolPolicies, item)
        found.version = int(item["version"])
        return found


class CallRateStore:
    """The counters of one tenant's rates: how many calls of a tool a subject has made in a window."""

    def __init__(self, tenant: str, writer: Writer) -> None:
        self._tenant = tenant
        self._writer = writer

    def count(self, counter: tuple[str, ...], call: tuple[str, ...], rate: CallRate, now: datetime, token: str) -> bool:
        """Count a call. False: the window has had all its calls, and nothing is counted. A call that was counted before stays
        counted once.

        `counter`: the policy, the tool and the subject. `call`: the identification of the call.
        """
        begins, ends = window_of(rate, now)
        key, ttl = tool_policy_keys.rate(self._tenant, counter, begins), ends + int(RETENTION.total_seconds())
        place = tool_policy_keys.counted_call(self._tenant, call)
        mark = Put({"pk": place.pk, "sk": place.sk, "wt": token, "ttl": ttl}, ABSENT)
        further = Update(key, add={"n": 1}, set={"ttl": ttl}, when=(Term("n", Op.LT, rate.calls),))
        first = Put({"pk": key.pk, "sk": key.sk, "n": 1, "ttl": ttl}, ABSENT)
        for _ in range(TRIES):
            for change in (further, first):
                try:
                    self._writer.write(mark, change, token=token)
                except ConditionFailed as failure:
                    if 0 in failure.failed:
                        return True
                    if change is further and failure.failed.get(1) is not None:
                        return False
                else:
                    return True
        return False


def window_of(rate: CallRate, now: datetime) -> tuple[int, int]:
    """The beginning and the end of the window in which a moment is, in seconds since 1970."""
    begins = int(now.timestamp()) // rate.seconds * rate.seconds
    return begins, begins + rate.seconds
