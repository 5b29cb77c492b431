"""The one policy of writing: when a write is tried again, and how a writer finds out that a write of its own had succeeded.

A write whose answer is lost is asked for again. If then a condition fails on an item that bears this writer's token (attribute `wt`),
the first try had succeeded: a transaction is all or nothing, so one mark is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.ports.clock import Clock
from hibernaut.ports.table import Change, ConditionFailed, Contended, OutcomeUnknown, Table

TRIES = 8
FIRST_DELAY = 0.02
"""Seconds before the second try; doubled each time."""


class Writer:
    """`written` hears of all changes that were written, once they are."""

    def __init__(self, table: Table, clock: Clock, written: Callable[[Sequence[Change]], None] | None = None) -> None:
        self._table = table
        self._clock = clock
        self._written = written

    def write(self, *changes: Change, token: str = "") -> None:
        """Write all or nothing. `token` is what the changes set as `wt`; without one the write must be harmless when repeated.

        Raises: ConditionFailed (not by this writer's own success), and Contended or OutcomeUnknown when all tries are used up.
        """
        for attempt in range(1, TRIES + 1):
            try:
                self._table.write(*changes)
            except ConditionFailed as failure:
                if token and any(old is not None and old.get("wt") == token for old in failure.failed.values()):
                    break
                raise
            except (Contended, OutcomeUnknown):
                if attempt == TRIES:
                    raise
                self._clock.sleep(FIRST_DELAY * 2 ** (attempt - 1))
            else:
                break
        if self._written:
            self._written(changes)
