"""Progress reports for long operations: a bar on a terminal, a line for every tenth elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TextIO

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


def report_to(out: TextIO) -> ProgressReport:
    """The report for this output, by whether it is a terminal."""
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
    """The report for a terminal: a bar below the lines, with the remaining time. `rich` draws it, and is imported here only."""

    def __init__(self, out: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

        columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        # `share` draws: a thread that did so too would only be one more.
        self._bar = Progress(*columns, console=Console(file=out), auto_refresh=False, transient=True, get_time=now)
        self._task = self._bar.add_task("", total=None)

    def line(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def share(self, done: int, of: int) -> None:
        self._bar.update(self._task, completed=done, total=of or None)
        self._bar.start()
        self._bar.refresh()

    def end(self) -> None:
        self._bar.stop()


class Dwindling:
    """Reports progress by the amount of remaining work, and `still` if nothing changes. `now` returns seconds."""

    def __init__(self, report: ProgressReport, still: str, now: Callable[[], float] = time.monotonic) -> None:
        self._report = report
        self._still = still
        self._now = now
        self._most, self._last, self._moved = 0, -1, now()

    def remaining(self, count: int) -> None:
        """Report that so much work remains. The largest count so far is the whole."""
        self._most = max(self._most, count)
        self._report.share(self._most - count, self._most)
        if count != self._last:
            self._moved, self._last = self._now(), count
        elif self._now() - self._moved > STILL:
            self._report.line(self._still)
            self._moved = self._now()
