"""Progress reports for long operations: a bar on a terminal, a line for every tenth elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TextIO

WIDTH = 30
"""The width of the bar in characters."""
STILL = 60.0
"""Seconds without progress after which the report says so."""


class ProgressReport(Protocol):
    """The output of a progress report."""

    def line(self, text: str) -> None:
        """Print a line that remains."""

    def share(self, done: int, of: int) -> None:
        """Report the progress: `done` of `of`."""

    def end(self) -> None:
        """End the report."""


def told_to(out: TextIO) -> ProgressReport:
    return Bar(out) if out.isatty() else ProgressLines(out)


class ProgressLines:
    """The report for a file or a pipe."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._tenths = 0

    def line(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def share(self, done: int, of: int) -> None:
        tenths = 10 * done // of if of else 0
        if tenths != self._tenths:
            self._tenths = tenths
            self.line(f"{tenths * 10} %")

    def end(self) -> None: ...


class Bar:
    """The report for a terminal: the bar is the last line, rewritten in place. `now` returns seconds."""

    def __init__(self, out: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._now = now
        self._since: float | None = None
        self._shown = False

    def line(self, text: str) -> None:
        self.end()
        print(text, file=self._out, flush=True)

    def share(self, done: int, of: int) -> None:
        self._since = self._now() if self._since is None else self._since
        share = done / of if of else 0.0
        filled = int(WIDTH * share)
        bar = "█" * filled + "░" * (WIDTH - filled)
        self._out.write(f"\r\033[K{bar} {share:4.0%}{_remaining(share, self._now() - self._since)}")
        self._out.flush()
        self._shown = True

    def end(self) -> None:
        if self._shown:
            self._out.write("\r\033[K")
            self._out.flush()
            self._shown = False


class Dwindling:
    """Reports progress by the amount of remaining work, and `still` if nothing changes. `now` returns seconds."""

    def __init__(self, told: ProgressReport, still: str, now: Callable[[], float] = time.monotonic) -> None:
        self._told = told
        self._still = still
        self._now = now
        self._most, self._last, self._moved = 0, -1, now()

    def left(self, count: int) -> None:
        self._most = max(self._most, count)
        self._told.share(self._most - count, self._most)
        if count != self._last:
            self._moved, self._last = self._now(), count
        elif self._now() - self._moved > STILL:
            self._told.line(self._still)
            self._moved = self._now()


def _remaining(share: float, seconds: float) -> str:
    """The remaining time at the current rate, once there is one."""
    if share < 0.02 or seconds < 2:
        return ""
    left = seconds * (1 - share) / share
    return f"  about {left:.0f} s left" if left < 90 else f"  about {left / 60:.0f} min left"
