"""Limits on requests per second, for all tenants: one item that authentication reads beside a key, and the counters of seconds.

An item of its own is needed because a request must not become slower by a read: it is part of the batch that finds the API key,
and is cached as long.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hibernaut.ports.storage.table import ABSENT, Item, Op, Put, Table, Term, Update, Value, eq
from hibernaut.schemas.errors import Conflict
from hibernaut.store.access import deployment_keys
from hibernaut.store.table.optimistic_retry import until_settled
from hibernaut.store.table.writer import Writer

MOST_RATES = 2000
"""The largest number of limits on requests per second in a deployment: one item holds them."""
TRIES = 5
"""The largest number of attempts of a change that other requests overtake."""
COUNTER_LIFE = 60
"""Seconds for which the counter of a second is retained."""


def name_of(tenant: str, subject: str) -> str:
    """The name of a tenant's subject in the deployment."""
    return f"{tenant}#{subject}"


class RateStore:
    """The limits on requests per second, as this process last read them. Thread-safe."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.key = deployment_keys.rates()
        self.limits: Mapping[str, int] = {}

    def take(self, item: Item | None) -> None:
        """Remember the limits of the item, which was read now."""
        self.limits = json.loads(str(item["body"])) if item is not None else {}

    def read(self) -> tuple[dict[str, int], int]:
        """The limits and their version; 0 if there are none yet."""
        item = self._table.get(self.key)
        return (json.loads(str(item["body"])), int(item["version"])) if item is not None else ({}, 0)

    def change(self, limits: Mapping[str, int], version: int) -> Put:
        """The change to these limits. Condition: they are still those of the version that was read."""
        item: dict[str, Value] = {"pk": self.key.pk, "sk": self.key.sk, "body": json.dumps(limits), "version": version + 1}
        return Put(item, eq(version=version) if version else ABSENT)

    def count(self, name: str, limit: int, second: int) -> Update:
        """The change that counts a request in a second. It fails if the second has had `limit` of them."""
        key = deployment_keys.rate(name, second)
        return Update(key, add={"n": 1}, set={"ttl": second + COUNTER_LIFE}, when=(Term("n", Op.NE, limit),))


class TenantRates:
    """The limits on requests per second of one tenant's subjects: the tenant, its API keys and its agents."""

    def __init__(self, rates: RateStore, writer: Writer, tenant: str) -> None:
        """`writer`: that of all tenants."""
        self._rates = rates
        self._writer = writer
        self._tenant = tenant

    def limit(self, subject: str, limit: int | None) -> None:
        """Set or remove (None) the limit of a subject, which all processes read together. Raises: Conflict."""
        name = name_of(self._tenant, subject)

        def attempt() -> None:
            limits, version = self._rates.read()
            if limits.get(name) == limit:
                return
            new_limits = {**limits, name: limit} if limit is not None else {key: limits[key] for key in limits if key != name}
            if len(new_limits) > MOST_RATES:
                raise Conflict(f"CONFLICT: {MOST_RATES} subjects have a limit on requests per second; delete another one first.")
            self._writer.write(self._rates.change(new_limits, version))
            self._rates.limits = new_limits

        busy = "CONFLICT: Limits on requests per second keep being changed by other requests; try again."
        until_settled(attempt, busy, tries=TRIES)
