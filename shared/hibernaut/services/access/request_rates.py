"""Limits on requests per second, at the edge: of the tenant, of the API key, and of the agent that a path names.

A process that serves alone counts in its memory (token buckets that hold a second's requests). Processes that serve together
count in the table, by one conditional write for each request that a limit concerns; others cost nothing (decision 28).
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.access.budget import TENANT
from hibernaut.schemas.errors import BudgetExceeded
from hibernaut.schemas.ids import AGENT_ID
from hibernaut.schemas.immutable import immutable
from hibernaut.store.access.rates import name_of
from hibernaut.store.stores import Stores

MOST_BUCKETS = 4096
"""The largest number of buckets of a process; the one that was used longest ago is forgotten."""
_AGENT = re.compile(rf"^/(?:v1|latest)/agents/({AGENT_ID})(?:/|$)")


@immutable
class RequestLimit:
    """A limit that concerns a request."""

    name: str
    subject: str
    limit: int


class RequestRates:
    """Admits requests, as many in a second as the limits allow. Thread-safe."""

    def __init__(self, stores: Stores, clock: Clock, *, alone: bool) -> None:
        """`alone`: no other process serves requests of this deployment."""
        self._rates = stores.rates
        self._writer = stores.writer
        self._clock = clock
        self._buckets = TokenBuckets(clock) if alone else None

    def concerning(self, principal: Principal, path: str) -> list[RequestLimit]:
        """The limits that concern a request, from memory."""
        limits = self._rates.limits
        if not limits:
            return []
        agent = _AGENT.match(path)
        subjects = [TENANT, *([principal.key_id] if principal.key_id else []), *([agent[1]] if agent else [])]
        names = [(name_of(principal.tenant, subject), subject) for subject in subjects]
        return [RequestLimit(name, subject, limits[name]) for name, subject in names if name in limits]

    def admit(self, limit: RequestLimit) -> None:
        """Count a request. Raises: BudgetExceeded if there are too many in this second; StoreUnavailable."""
        if not (self._buckets.take(limit.name, limit.limit) if self._buckets is not None else self._count(limit)):
            owner = "the tenant" if limit.subject == TENANT else limit.subject
            raise BudgetExceeded(
                f"BUDGET_EXCEEDED: The budget requests_per_second of {owner} is used up: {limit.limit} requests in a second.",
                budget="requests_per_second",
                subject=limit.subject,
                resets_at=None,
                retry_after=1,
            )

    def _count(self, limit: RequestLimit) -> bool:
        try:
            self._writer.write(self._rates.count(limit.name, limit.limit, int(self._clock.now().timestamp())))
        except ConditionFailed:
            return False
        return True


class TokenBuckets:
    """Buckets of tokens: each holds what `limit` seconds⁻¹ fill in one second. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, limit: int) -> bool:
        """Take a token from a bucket; False if it is empty."""
        with self._lock:
            now = self._clock.monotonic()
            tokens, at = self._buckets.pop(name, (float(limit), now))
            tokens = min(float(limit), tokens + (now - at) * limit)
            self._buckets[name] = (tokens - 1 if tokens >= 1 else tokens, now)
            while len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
            return tokens >= 1
