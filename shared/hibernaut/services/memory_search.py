"""Finding memory again: by words and by meaning, in an index that may lag or sleep, without missing what was just written (architecture 7).

A search asks the index for two ranked lists, looks at what the index does not know yet, fuses, and reads what it found from the table:
the table is the truth, so nothing that was deleted is ever shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from hibernaut.schemas.search import Kind, TagMatch

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Where:
    """What is searched: these archives, folders or agents (None: all of the tenant), narrowed by what else is given.

    `conversation` is a log: an agent's id for its own conversation. `start` and `end` are inclusive.
    """

    kind: Kind
    places: tuple[str, ...] | None
    conversation: str | None = None
    file_ids: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tag_match: TagMatch = "any"
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Found(Generic[R]):
    """A record, its fused score, and where it stood in each list (from 1; None: not in it)."""

    record: R
    score: float
    lexical_rank: int | None = None
    vector_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Searched(Generic[R]):
    """The best, first. `incomplete`: more was written lately than a search looks at. `asleep`: the index did not answer, so these are
    from the newest part of the table. `words_only`: nobody could embed the query."""

    hits: tuple[Found[R], ...] = ()
    incomplete: bool = False
    asleep: bool = False
    words_only: bool = False
