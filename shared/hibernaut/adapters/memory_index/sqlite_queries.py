"""What a query asks of the tables of a space, as SQL conditions. Knows `sqlite_schema`'s tables, no connection."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hibernaut.schemas.memory.search_index import IndexQuery, Reach

Values = list[str | int]

LIST = "(SELECT value FROM json_each(?))"
"""Any number of values as one bound JSON array."""
_START = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970, as moments are stored."""
    return (moment - _START) // timedelta(microseconds=1)


def filters(number: int, query: IndexQuery) -> tuple[str, Values]:
    """The condition on rows `d` of the space's documents."""
    parts: list[str] = ["d.tenant = ?", "d.kind = ?"]
    values: Values = [query.tenant, query.kind]

    def must(part: str, *bound: str | int) -> None:
        parts.append(part)
        values.extend(bound)

    if query.places is not None:
        must(f"d.place IN {LIST}", _listed(query.places))
    if query.reach is not None:
        part, bound = _within(query.reach)
        must(part, *bound)
    if query.file_ids:
        must(f"d.file IN {LIST}", _listed(query.file_ids))
    if query.roles:
        must(f"d.role IN {LIST}", _listed(query.roles))
    if query.start is not None:
        must("d.created >= ?", microseconds(query.start))
    if query.end is not None:
        must("d.created <= ?", microseconds(query.end))
    if tags := sorted(set(query.tags)):
        matches = f"(SELECT count(*) FROM tag_{number} t WHERE t.row = d.row AND t.tag IN {LIST})"
        must(f"{matches} >= ?", _listed(tags), 1 if query.tag_match == "any" else len(tags))
    return " AND ".join(parts), values


def _within(reach: Reach) -> tuple[str, list[str]]:
    ways, values = [f"d.id IN {LIST}"], [_listed(reach.ids)]
    for one in reach.stretches:
        bounds = (("d.conversation = ?", one.conversation), ("d.id > ?", one.after), ("d.id <= ?", one.upto))
        conditions = [(part, value) for part, value in bounds if value is not None]
        ways.append(" AND ".join(["1", *(part for part, _ in conditions)]))
        values += [value for _, value in conditions]
    return f"({' OR '.join(ways)})", values


def narrows(query: IndexQuery) -> bool:
    """Does it ask for more than kind and places?"""
    return bool(query.reach is not None or query.file_ids or query.roles or query.tags or query.start or query.end)


def _listed(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
