"""The tables of a proof: the number of points for each story and engine, and the findings of each engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.proof.engines import Tally

KINDS = ("lost", "doubled", "bricked")
Tallies = Mapping[tuple[str, str], Tally]
"""The counts by story and engine."""


def points_of(tallies: Tallies, stories: Sequence[str], engines: Sequence[str]) -> str:
    """A row for each story: the number of points at which each engine injected a fault."""
    rows = [["scenario", *engines]]
    for story in stories:
        cells = [tallies.get((story, engine)) for engine in engines]
        rows.append([story, *(str(cell.points) if cell else "–" for cell in cells)])
    return _drawn(rows)


def sums_of(tallies: Tallies, engines: Sequence[str], seconds: Mapping[str, float]) -> str:
    """A row for each engine: points, ended runs, the numbers of lost, doubled and bricked, and the seconds of its plays, which
    add up over the processes.
    """
    rows = [["engine", "points", "runs ended", *KINDS, "seconds"]]
    whole = Tally()
    for engine in engines:
        total = Tally()
        for (_, of), tally in tallies.items():
            if of == engine:
                total.add(tally)
        whole.add(total)
        rows.append(_sum(engine, total, seconds[engine]))
    return _drawn([*rows, _sum("all", whole, sum(seconds.values()))])


def _sum(name: str, tally: Tally, seconds: float) -> list[str]:
    ended = f"{tally.ended} of {tally.runs}"
    return [name, str(tally.points), ended, *(str(tally.count(kind)) for kind in KINDS), f"{seconds:.0f}"]


def _drawn(rows: Sequence[Sequence[str]]) -> str:
    """The table in Markdown with aligned columns."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(_set(cell, width, place) for place, (cell, width) in enumerate(zip(row, widths, strict=True))) + " |"
        for row in rows
    ]
    rule = (
        "|" + "|".join("-" * (width + 2) if place == 0 else "-" * (width + 1) + ":" for place, width in enumerate(widths)) + "|"
    )
    return "\n".join([lines[0], rule, *lines[1:]])


def _set(cell: str, width: int, place: int) -> str:
    return cell.ljust(width) if place == 0 else cell.rjust(width)
