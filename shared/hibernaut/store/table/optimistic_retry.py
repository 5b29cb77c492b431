"""Repeating an optimistic change until no other writer comes between its read and its write.

Knows that a change reads, decides and writes on a condition; must not know the records. The waits of a busy table are in
`retries`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import Conflict

TRIES = 10
"""The number of attempts of a change whose record others change too, where a caller names none."""

T = TypeVar("T")


def until_settled(attempt: Callable[[], T], busy: str, *, tries: int = TRIES) -> T:
    """The result of `attempt` (read, decide, write), which is repeated at once while it raises ConditionFailed, `tries` times in
    all.

    `busy`: the text of the error at the end. Raises: Conflict after the last attempt, and whatever else `attempt` raises.
    """
    for _ in range(tries):
        try:
            return attempt()
        except ConditionFailed:
            continue
    raise Conflict(busy)
