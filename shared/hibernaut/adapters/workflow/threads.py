"""The embedded `Workflow`: follows the same `next` values as the state machine on AWS, on threads of this process (architecture 4).

Knows: threads. Must not know: what a step does, or when a run ends; the decisions are all in what it is bound to.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from hibernaut.ports.workflow import Next, RunRef, is_passing
from hibernaut.schemas.errors import place_of

WORKERS = 64
"""Runs that go on at the same time; a run waits mostly for its model."""
TRIES = 3
"""How often in a row a step may fail: then the run is closed, or left to the sweep where the last fault was the platform's."""
LOOKS = 10
"""How often a run is asked again whose step another attempt holds; after that it is the other's, or the sweep's."""
PAUSE = 0.5
"""Seconds before a step that failed, or is held by another, is asked for again."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Drive:
    """What drives a run: one step, the closing of a run whose steps fail by their own fault, and the compaction of a window that is too full.

    `drop` is a step that makes room by itself, without a summary: what is done where `compact` fails.
    """

    advance: Callable[[RunRef], Next]
    close: Callable[[RunRef], None]
    compact: Callable[[RunRef], Next]
    drop: Callable[[RunRef], Next]


class Threads:
    """Thread-safe. Must be bound before the first start."""

    def __init__(self, workers: int = WORKERS, *, pause: float = PAUSE) -> None:
        self._pause = pause
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="run")
        self._drive: Drive | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._waiting: set[RunRef] = set()

    def bind(self, drive: Drive) -> None:
        """Say what drives runs. It needs this engine itself, so it comes after."""
        self._drive = drive

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        """Follow the run to its end: `inline` on the caller's thread, else on the pool. One that waits for the pool waits once."""
        del name  # every start of one run finds the same table, which tells doubled ones apart
        if self._stopping.is_set():
            return
        if inline:
            self._follow(run)
        elif self._is_first(run):
            with suppress(RuntimeError):  # closed since it was asked: the next start takes the run up
                self._pool.submit(self._begin, run)

    def stop(self, run: RunRef) -> None:
        """Nothing to do: the step under way finds the run ended when it commits."""

    def end_wait(self, run: RunRef, token: str) -> None:
        """Nothing to do: no thread waits for an approval."""

    def close(self) -> None:
        """Let the steps under way finish; what is left of their runs goes on at the next start."""
        self._stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _is_first(self, run: RunRef) -> bool:
        """Whether the run did not wait for the pool before."""
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
                logger.error("step failed", extra={"run_id": run.run_id, "failures": failures, **_told(error)})
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
            logger.error("run could not be closed", extra={"run_id": run.run_id, **_told(error)})


def _told(error: Exception) -> dict[str, str]:
    """What is logged of an error: never its text, which may quote a message."""
    return {"error": type(error).__qualname__, "place": place_of(error)}
