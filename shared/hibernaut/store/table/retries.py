"""The retry policy for a table that is busy, throttled or out of reach: the time budget and the backoff.

Reads and writes share the policy. Adapters send each request once, so that no two policies multiply. No retry library is used,
because time comes from the port `Clock` and randomness from a source that a test can seed; beyond these the policy is one loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Change, Contended, Index, Item, Key, OutcomeUnknown, PartlyRead, Query, Table
from hibernaut.schemas.errors import StoreUnavailable

BUDGET = 5.0
"""Seconds for all attempts of one operation, waits included. No attempt begins after it."""
FIRST_DELAY = 0.05
"""The upper bound of the wait before the second attempt, in seconds. It doubles before each further attempt."""
LONGEST_DELAY = 1.0
"""The largest upper bound of a wait, in seconds."""
RETRY_AFTER = 2.0
"""Seconds of the Retry-After hint in StoreUnavailable."""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class RetryPolicy:
    """Exponential backoff with full jitter: each wait is uniformly distributed between 0 and its upper bound, so that callers
    that fail together do not retry together. Thread-safe.
    """

    def __init__(self, clock: Clock, random: Random | None = None) -> None:
        """`random`: the source of the jitter. The default is seeded by the system, so that processes draw different waits."""
        self._clock = clock
        self._random = random or Random()

    def run(self, attempt: Callable[[], T], *, writes: bool = False) -> T:
        """The result of `attempt`, which is repeated after Contended and OutcomeUnknown. `writes`: it is a write.

        Raises: StoreUnavailable after `BUDGET`, which says of a write what became of it; other errors of `attempt` at once.
        """
        deadline, longest = self._clock.monotonic() + BUDGET, FIRST_DELAY
        outcome = " Nothing was changed." if writes else ""
        while True:
            try:
                return attempt()
            except (Contended, OutcomeUnknown) as error:
                if isinstance(error, OutcomeUnknown):  # Later attempts do not make it certain that this one has failed.
                    outcome = " Whether the change was made is not known."
                delay = self._random.uniform(0, longest)
                if self._clock.monotonic() + delay > deadline:
                    logger.warning("table unavailable", extra={"error": type(error).__qualname__})
                    raise StoreUnavailable(
                        f"The store is busy or out of reach.{outcome} Send the request again in {RETRY_AFTER:.0f} seconds.",
                        RETRY_AFTER,
                    ) from error
            self._clock.sleep(delay)
            longest = min(2 * longest, LONGEST_DELAY)


class RetryingTable:
    """A table whose reads are retried. A write is sent once: only `Writer` knows the token by which a writer detects its own
    success.
    """

    def __init__(self, table: Table, policy: RetryPolicy) -> None:
        self._table = table
        self._policy = policy

    def get(self, key: Key) -> Item | None:
        """`Table.get` with retries. Raises: StoreUnavailable, TableError."""
        return self._policy.run(lambda: self._table.get(key))

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """`Table.get_many` with retries. Raises: StoreUnavailable, TableError."""
        return self._policy.run(lambda: self._table.get_many(keys))

    def query(
        self,
        pk: str,
        *,
        index: Index | None = None,
        after: str | None = None,
        before: str | None = None,
        prefix: str = "",
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> list[Item]:
        """`Table.query` with retries. Raises: StoreUnavailable, TableError."""
        return self._policy.run(
            lambda: self._table.query(
                pk, index=index, after=after, before=before, prefix=prefix, limit=limit, descending=descending, names=names
            )
        )

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        """`Table.query_many` with retries, of the failed queries only: many together hardly ever succeed at once while the table
        is throttled. Raises: StoreUnavailable, TableError.
        """
        found: dict[int, list[Item]] = {}

        def attempt() -> None:
            open_places = [place for place in range(len(queries)) if place not in found]
            try:
                answers = self._table.query_many([queries[place] for place in open_places])
            except PartlyRead as failure:
                found.update({open_places[place]: items for place, items in failure.found.items()})
                raise
            found.update(zip(open_places, answers, strict=True))

        self._policy.run(attempt)
        return [found[place] for place in range(len(queries))]

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        """`Table.count` with retries. Raises: StoreUnavailable, TableError."""
        return self._policy.run(lambda: self._table.count(pk, prefix=prefix, having=having))

    def write(self, *changes: Change) -> None:
        """`Table.write` without retries. Raises: as `Table.write`."""
        self._table.write(*changes)
