"""The embedded `Workflow`: executes the transitions of the AWS state machine on threads of this process.

Knows: threads. Must not know: what a step does, or when a run ends; the bound functions decide.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hibernaut.ports.runs.workflow import Next, RunRef, is_passing
from hibernaut.schemas.errors import place_of
from hibernaut.schemas.immutable import immutable

WORKERS = 64
"""The largest number of concurrent runs; a run mostly waits for its model."""
TRIES = 3
"""The number of consecutive failures of a step after which the run is closed, or left to the sweep if the platform caused the
last failure.
"""
LOOKS = 10
"""The number of attempts for a step whose lease another attempt holds; after that the other attempt or the sweep continues the
run.
"""
PAUSE = 0.5
"""Seconds before the next attempt of a step that failed or is leased by another worker."""
logger = logging.getLogger(__name__)


@immutable
class Drive:
    """The functions that drive a run: one step, the closing of a run whose steps keep failing, and the compaction of a full
    window.

    `drop` is a step that makes room without a summary, for the case that `compact` fails.
    """

    advance: Callable[[RunRef], Next]
    close: Callable[[RunRef], None]
    compact: Callable[[RunRef], Next]
    drop: Callable[[RunRef], Next]


class Threads:
    """The thread pool. Thread-safe. `bind` must be called before the first start."""

    def __init__(self, workers: int = WORKERS, *, pause: float = PAUSE) -> None:
        self._pause = pause
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="run")
        self._drive: Drive | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._waiting: set[RunRef] = set()

    def bind(self, drive: Drive) -> None:
        """Set the functions that drive runs. They need this engine themselves, so they are set after its construction."""
        self._drive = drive

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        """Drive the run to its end: `inline` on the caller's thread, else on the pool. A run is queued at most once."""
        del name  # every start of one run sees the same table, which rejects duplicates
        if self._stopping.is_set():
            return
        if inline:
            self._follow(run)
        elif self._is_first(run):
            with suppress(RuntimeError):  # the pool was closed meanwhile: the next start of the server resumes the run
                self._pool.submit(self._begin, run)

    def stop(self, run: RunRef) -> None:
        """Does nothing: the current step finds at its commit that the run has ended."""

    def end_wait(self, run: RunRef, token: str) -> None:
        """Does nothing: no thread waits for an approval."""

    def close(self) -> None:
        """Wait for the current steps; the next start of the server resumes their runs."""
        self._stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _is_first(self, run: RunRef) -> bool:
        """Whether the run was not queued before."""
        with self._lock:
            waits = run in self._waiting
            self._waiting.add(run)
        return not waits

    def _begin(self, run: RunRef) -> None:
        with self._lock:
            self._waiting.discard(run)
        self._follow(run)

    def _follow(self, run: RunRef) -> None:
        if self._drive is None:
            raise RuntimeError("the workflow must be bound before a run is started")
        failures = looks = 0
        step = self._drive.advance
        while not self._stopping.is_set():
            try:
                follows = step(run)
            except Exception as error:  # noqa: BLE001  the thread ends here, and its run must end too (invariant 7)
                failures += 1
                logger.error("step failed", extra={"run_id": run.run_id, "failures": failures, **_fields(error)})
                if failures == TRIES:
                    return None if is_passing(error) else self._close(self._drive, run)
                if step is self._drive.compact:
                    step = self._drive.drop
                else:
                    self._stopping.wait(self._pause)
                continue
            step = self._drive.advance
            match follows:
                case "advance":
                    failures = looks = 0
                case "compact":
                    step = self._drive.compact
                case "busy" if looks < LOOKS:
                    looks += 1
                    self._stopping.wait(self._pause)
                case _:
                    return None
        return None

    def _close(self, drive: Drive, run: RunRef) -> None:
        try:
            drive.close(run)
        except Exception as error:  # noqa: BLE001  the table itself fails: the sweep closes the run when it is back
            logger.error("run could not be closed", extra={"run_id": run.run_id, **_fields(error)})


def _fields(error: Exception) -> dict[str, str]:
    """The loggable fields of an error: never its text, which may quote a message."""
    return {"error": type(error).__qualname__, "place": place_of(error)}
