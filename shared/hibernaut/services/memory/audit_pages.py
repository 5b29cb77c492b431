"""The audit of a tenant, page by page: all agents, then all blocks, then the passages of all archives, in the order of their ids.
Changes nothing.

A page is bounded by its records and by what it reads: a long chain is checked over several pages, and is reported by the one that
reaches its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.memory.version import AuditPage, ChainReport
from hibernaut.services.memory.chain_audit import AuditedRecord, ChainAudit, ChainPart
from hibernaut.store.stores import TenantStores

LONGEST_PART = 1000
"""Versions of one chain that a page reads, about."""
LARGEST_PAGE = 2000
"""What a page reads, about: a version counts one, a record or an archive FIRST."""
FIRST = 10
KINDS = ("agent", "block")
_CURSOR = re.compile(r"(agent|block|passage):([\w-]{1,100})(?:@(\d{1,16}))?(?:/([\w-]{1,100}(?:@\d{1,16})?))?", re.ASCII)


class _AuditPlace(NamedTuple):
    """Where a page begins. `number`: the version of this chain that was checked last (0: all). `within`: the cursor in the
    passages of an archive ("": all).
    """

    kind: str
    subject: str
    number: int = 0
    within: str = ""


class _FoundChain(NamedTuple):
    """What was found next: the cursor behind it, what was read for it, and the report, if there is one."""

    cursor: str
    cost: int
    report: ChainReport | None


class AuditPages:
    """The pages of one tenant. Its methods raise StoreUnavailable, and OSError if a blob cannot be read."""

    def __init__(self, stores: TenantStores) -> None:
        self._stores = stores
        self._chains = ChainAudit(stores)

    def page(self, after: str | None, limit: int) -> AuditPage:
        """The reports of at most `limit` records after a cursor (None: from the beginning). Raises: InvalidArgument for an
        unreadable cursor.
        """
        records: list[ChainReport] = []
        cost = 0
        for found in self._from(_place(after), limit):
            records += [found.report] if found.report else []
            cost += found.cost
            if len(records) == limit or cost >= LARGEST_PAGE:
                return AuditPage(records=records, next=found.cursor)
        return AuditPage(records=records)

    def _from(self, place: _AuditPlace | None, size: int) -> Iterator[_FoundChain]:
        """What is behind a place. `size`: how many records are read at once."""
        for kind in KINDS:
            if place is None or place.kind == kind:
                yield from self._chained(kind, place, size)
                place = None
        yield from self._passages(place, size)

    def _chained(self, kind: str, place: _AuditPlace | None, size: int) -> Iterator[_FoundChain]:
        """The chains of agents or of blocks."""
        if place and place.number:
            yield self._part(self._chains.record(kind, place.subject), place.number)
        row_list = self._stores.agents.listed() if kind == "agent" else self._stores.blocks.listed()
        rows = row_list.walk(place.subject if place else None, first=size)
        while ids := [str(row["sk"]) for row in islice(rows, size)]:
            for record in self._chains.records(kind, ids):
                yield self._part(record, 0)

    def _part(self, record: AuditedRecord, after: int) -> _FoundChain:
        """The next part of a chain."""
        check = self._chains.settled(record, part=ChainPart(after, LONGEST_PART))
        cursor = f"{record.kind}:{record.place.subject}" + ("" if check.ended else f"@{check.report.version}")
        return _FoundChain(cursor, check.read + FIRST, check.report if check.ended else None)

    def _passages(self, place: _AuditPlace | None, size: int) -> Iterator[_FoundChain]:
        """The passages of all archives. An archive that was not finished goes on behind `within`."""
        if place and place.within:
            yield from self._archive(place.subject, place.within, size)
        last = place.subject if place else None
        while archives := self._stores.passages.archives(last, limit=size):
            for last in archives:
                yield from self._archive(last, "", size)

    def _archive(self, archive_id: str, within: str, size: int) -> Iterator[_FoundChain]:
        for cursor, report in self._stores.passages.audited(archive_id, within, first=size):
            yield _FoundChain(f"passage:{archive_id}/{cursor}", 1, report)
        yield _FoundChain(f"passage:{archive_id}", FIRST, None)


def _place(cursor: str | None) -> _AuditPlace | None:
    if not cursor:
        return None
    if (found := _CURSOR.fullmatch(cursor)) is None:
        raise InvalidArgument(f"INVALID_ARGUMENT: after must be the next of another page, not {cursor[:200]!r}.")
    kind, subject, number, within = found.groups()
    return _AuditPlace(kind, subject, int(number or 0), within or "")
