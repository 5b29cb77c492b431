"""The retry policy for a table that is busy, throttled or out of reach: the time budget and the backoff.

Reads and writes share it. Adapters send each request once, so that no two policies multiply. The policy is our own because time comes
from the port `Clock` and chance from a source that a test can seed; what a retry library would add beside these is less than a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hibernaut.ports.clock import Clock
from hibernaut.ports.table import Change, Contended, Index, Item, Key, OutcomeUnknown, Record, Table
from hibernaut.schemas.errors import StoreUnavailable

BUDGET = 5.0
"""Seconds for all tries of one operation, the time of the tries included."""
FIRST_DELAY = 0.05
"""Seconds: the longest wait before the second try; doubled before each further one."""
LONGEST_DELAY = 1.0
RETRY_AFTER = 2.0
"""Seconds of the Retry-After hint in StoreUnavailable."""

T = TypeVar("T")


class RetryPolicy:
    """Exponential backoff with full jitter: each wait is drawn evenly from nothing to the longest, so that callers that were refused
    together do not come back together. Thread-safe."""

    def __init__(self, clock: Clock, random: Random | None = None) -> None:
        """`random` is seeded by the system unless it is given: processes must not draw the same waits."""
        self._clock = clock
        self._random = random or Random()

    def run(self, attempt: Callable[[], T]) -> T:
        """What `attempt` answers. Raises: StoreUnavailable when the budget is used up, and what `attempt` raises but Contended and
        OutcomeUnknown."""
        deadline, longest = self._clock.monotonic() + BUDGET, FIRST_DELAY
        while True:
            try:
                return attempt()
            except (Contended, OutcomeUnknown) as error:
                delay = self._random.uniform(0, longest)
                if self._clock.monotonic() + delay > deadline:
                    raise _unavailable(error) from error
            self._clock.sleep(delay)
            longest = min(2 * longest, LONGEST_DELAY)


class RetryingTable:
    """A table whose reads are tried again. A write is sent once: only `Writer` knows by which token a writer finds its own success."""

    def __init__(self, table: Table, policy: RetryPolicy) -> None:
        self._table = table
        self._policy = policy

    def get(self, key: Key) -> Item | None:
        return self._policy.run(lambda: self._table.get(key))

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
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
        return self._policy.run(
            lambda: self._table.query(
                pk, index=index, after=after, before=before, prefix=prefix, limit=limit, descending=descending, names=names
            )
        )

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        return self._policy.run(lambda: self._table.count(pk, prefix=prefix, having=having))

    def write(self, *changes: Change) -> None:
        self._table.write(*changes)

    def changes(self, after: str | None = None, limit: int = 1000) -> list[Record]:
        return self._policy.run(lambda: self._table.changes(after, limit))


def _unavailable(error: Contended | OutcomeUnknown) -> StoreUnavailable:
    done = "Whether the change was made is not known" if isinstance(error, OutcomeUnknown) else "Nothing was changed"
    return StoreUnavailable(
        f"The store is busy or out of reach. {done}; send the request again in {RETRY_AFTER:.0f} seconds.", RETRY_AFTER
    )
