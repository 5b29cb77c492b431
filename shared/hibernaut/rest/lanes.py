"""Lanes: the kinds of blocking work, how many threads each has, and how many requests may wait for one.

Each kind has threads of its own, so that no kind can starve another: reads are answered while tools run, and a cancel never waits behind
either. What comes when a lane is full is refused at once (503 with Retry-After). Knows paths; must not know what is done there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lane:
    """`threads` jobs run at the same time, `waiting` more wait for a thread."""

    name: str
    threads: int
    waiting: int


READS = Lane("reads", 32, 1000)
WRITES = Lane("writes", 16, 500)
CONTROL = Lane("control", 8, 500)
"""Cancelling: short, and what ends the work of other lanes."""
DELETIONS = Lane("deletions", 4, 200)
SEARCHES = Lane("searches", 8, 200)
TOOL_SOURCES = Lane("tool sources", 4, 100)
"""Reading the source of a tool, which takes CPU time."""
TOOL_RUNS = Lane("tool runs", 16, 32)
"""Each waits for a child process or a function, as long as the tool's time limit."""
UPLOADS = Lane("uploads", 4, 32)
SUMMARIES = Lane("summaries", 16, 64)
"""Each waits for a model."""
TURNS = Lane("turns", 200, 200)
"""Requests whose run goes through its steps on the request's own thread."""
ADMISSIONS = Lane("admissions", 32, 1000)
"""Taking in what starts a run."""
LOOKS = Lane("looks", 16, 100_000)
"""Short reads of those who follow runs, of which there may be many."""

BY_ENDING = {
    "/cancel": CONTROL,
    "/upload": UPLOADS,
    "/summarize": SUMMARIES,
    "/compact": SUMMARIES,
    "/generate": SUMMARIES,
    "/search": SEARCHES,
    "/run": TOOL_RUNS,
}
"""By the last part of a path, whatever the method."""


def lane_of(path: str, methods: Collection[str]) -> Lane:
    """The lane of a route, by its path as it is declared and its methods."""
    ending = BY_ENDING.get(path[path.rindex("/") :])
    if ending is not None:
        return ending
    if "GET" in methods:
        return READS
    if "DELETE" in methods:
        return DELETIONS
    return TOOL_SOURCES if path.startswith("/v1/tools") else WRITES
