"""The report of a migration: what was moved, what differs, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hibernaut.schemas.base import JsonObject

MOST_NAMED = 3
"""The number of records that the printed report names for each reason; the file has all."""
DifferenceKind = Literal["lost", "differs", "left_out", "replaced", "repaired"]
"""`lost`: it should be on the target and is not. `differs`: it is there with another value. The others are decisions, each with
its reason.
"""
TITLES: Mapping[DifferenceKind, str] = {
    "lost": "NOT on the target",
    "differs": "other on the target",
    "left_out": "left out",
    "replaced": "replaced",
    "repaired": "repaired",
}


@dataclass(slots=True)
class MigrationReport:
    """What a migration found. `note` keeps a difference for the next run too; what a check finds is of this run alone."""

    keep: Callable[[JsonObject], None]
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    checked: list[JsonObject] = field(default_factory=list)

    def note(self, kind: DifferenceKind, record: str, why: str) -> None:
        """Report a decision about a record."""
        self.keep({"kind": kind, "record": record, "why": why})

    def found(self, kind: DifferenceKind, record: str, why: str) -> None:
        """Report what a check found."""
        self.checked.append({"kind": kind, "record": record, "why": why})

    def count(self, what: str, source: int, target: int) -> None:
        """Report the numbers of one kind of record on both sides."""
        before = self.counts.get(what, (0, 0))
        self.counts[what] = (before[0] + source, before[1] + target)

    def whole(self, notes: Sequence[JsonObject]) -> JsonObject:
        """The report as JSON."""
        counts = {what: {"source": source, "target": target} for what, (source, target) in self.counts.items()}
        return {"counts": counts, "differences": [*notes, *self.checked]}

    def lines(self, notes: Sequence[JsonObject]) -> list[str]:
        """The report as text: a line for each number and for each reason."""
        together: dict[tuple[DifferenceKind, str], list[str]] = {}
        for one in (*notes, *self.checked):
            together.setdefault((one["kind"], one["why"]), []).append(one["record"])
        counted = [f"{what}: {source} at the source, {target} on the target" for what, (source, target) in self.counts.items()]
        reasons = [
            f"{title}: {why} ({_named(records)})"
            for kind, title in TITLES.items()
            for (one, why), records in together.items()
            if one == kind
        ]
        return [*counted, *reasons]

    def failed(self, notes: Sequence[JsonObject]) -> bool:
        """Whether something is not on the target that should be."""
        return any(one["kind"] in ("lost", "differs") for one in (*notes, *self.checked))


def _named(records: Sequence[str]) -> str:
    more = len(records) - MOST_NAMED
    return ", ".join(records[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
