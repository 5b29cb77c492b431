"""`docs/compatibility.md`, generated from the rows: `python -m tests.compat.manifest.page > docs/compatibility.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.compat.manifest import rows, sections
from tests.compat.manifest.form import Row, Status

HEAD = """\
# Compatibility with the Letta V1 API

Generated from `tests/compat/manifest` by `python -m tests.compat.manifest.page`; do not edit.

Each row is a promise that a client of the Letta V1 API may rely on. A row marked *done* or *diverging* is proven by a test that cites its
id and talks to a real server: mostly through the unchanged `letta-client`, where it is about the wire itself over plain HTTP. Every test runs on the embedded profile, and at least one for each endpoint on
aws-offline too. What is *out of reach* is not served, for the reason that its row gives.
`API` and `RT` name the sections of the descriptions of that API and of its run time that the rows are taken from.
"""
WAITING = "What is *to do* is not built yet; its routes answer 501 with their names until then."
"""Stands below the head while there are such rows."""


def page() -> str:
    """The whole page."""
    waiting = [WAITING, ""] if any(row.status is Status.WAITING for row in rows()) else []
    return "\n".join(
        [HEAD, *waiting, *_counts(), *(line for name, found in sections().items() for line in _section(name, found))]
    )


def _counts() -> list[str]:
    every, endpoints = Counter(row.status for row in rows()), Counter(row.status for row in rows() for _ in row.pairs())
    lines = ["| | behaviors | routes of V1 and its SDK |", "| --- | ---: | ---: |"]
    lines += [f"| {status.value} | {every[status]} | {endpoints[status]} |" for status in Status if every[status]]
    return [*lines, f"| **together** | **{every.total()}** | **{endpoints.total()}** |", ""]


def _section(name: str, found: Iterable[Row]) -> list[str]:
    title = name.replace("_", " ").capitalize()
    return [f"## {title}", "", "| id | | what | source |", "| --- | --- | --- | --- |", *map(_row, found), ""]


def _row(row: Row) -> str:
    endpoint = f"`{' '.join(row.endpoint)}` " if row.endpoint else ""
    reason = f"<br>*{row.reason}*" if row.reason else ""
    return f"| `{row.id}` | {row.status.value} | {endpoint}{_cell(row.sentence)}{_cell(reason)} | {row.source} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
