"""How lists read records of which some are lost: the others are listed.

A record is lost if its item names a blob that is missing. A reader of one record, or one that needs all of them, raises
RecordLost. A list tolerates lost records: it leaves them out, and logs them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from hibernaut.ports.storage.table import Item
from hibernaut.schemas.faults.record_faults import RecordLost

Record = TypeVar("Record")
_lost: ContextVar[list[str] | None] = ContextVar("lost records of a list", default=None)
logger = logging.getLogger(__name__)


@contextmanager
def tolerating() -> Iterator[list[str]]:
    """Within it, lost records are left out of the results. Yields the list of their ids, which grows."""
    found = list[str]()
    token = _lost.set(found)
    try:
        yield found
    finally:
        _lost.reset(token)


@contextmanager
def needing_all() -> Iterator[None]:
    """Within it, a lost record raises RecordLost even if the caller is a list: the result is cached for other readers."""
    token = _lost.set(None)
    try:
        yield
    finally:
        _lost.reset(token)


def tolerated(error: RecordLost) -> bool:
    """Whether the caller leaves out lost records. If so, this one is noted and logged."""
    found = _lost.get()
    if found is None:
        return False
    found.append(error.record)
    logger.error("record lost", extra={"record": error.record})
    return True


def readable(read: Callable[[Item], Record], items: Iterable[Item]) -> Iterator[Record]:
    """The records of the items; lost ones are left out within `tolerating`. Raises: RecordLost outside of it."""
    for item in items:
        try:
            record = read(item)
        except RecordLost as lost:
            if not tolerated(lost):
                raise
            continue
        yield record
