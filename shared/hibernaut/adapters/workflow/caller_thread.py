"""The `Workflow` port of a function with waiting callers: the caller's thread drives its run, another engine drives all other
runs.

Knows: threads, the time limit of the caller's function, and the other engine. Must not know: the contents of a step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from hibernaut.ports.clock import Clock
from hibernaut.ports.runs.workflow import Next, RunRef, Workflow
from hibernaut.schemas.errors import place_of

Advance = Callable[[RunRef, Callable[[], float]], Next]
"""Performs the next steps of a run. The second argument returns the worker's remaining seconds."""
logger = logging.getLogger(__name__)


class CallerThread:
    """Drives the runs of waiting callers, and leaves everything else to the engine `others`. Thread-safe.

    A run moves to the other engine after a failed step, when its window must be summarised, when another attempt holds its step,
    and when the rest of `seconds` is too short for a further step. If the process dies, the lease of the step expires and the
    sweep continues the run. `bind` must be called before the first start.
    """

    def __init__(self, others: Workflow, clock: Clock, *, seconds: float) -> None:
        self._others = others
        self._clock = clock
        self._seconds = seconds
        self._advance: Advance | None = None

    def bind(self, advance: Advance) -> None:
        """Set the function that advances runs. It needs this engine itself, so it is set after the engine's construction."""
        self._advance = advance

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        """Drive the run if its caller waits for it (`inline`), else start it on the other engine.

        At the return the run has ended, or was started on the other engine.
        """
        if not inline or not self._is_done(run):
            self._others.start(run, name=name)

    def stop(self, run: RunRef) -> None:
        """Stop the run on the other engine. A worker of this engine notices by itself that its run has ended."""
        self._others.stop(run)

    def end_wait(self, run: RunRef, token: str) -> None:
        """End a wait of the other engine. No thread here waits for an approval."""
        self._others.end_wait(run, token)

    def _is_done(self, run: RunRef) -> bool:
        """Whether the run needs no further work after the steps of this thread."""
        if self._advance is None:
            raise RuntimeError("the workflow must be bound before a run is started")
        until = self._clock.monotonic() + self._seconds
        try:
            follows = self._advance(run, lambda: until - self._clock.monotonic())
        except Exception as error:  # noqa: BLE001  the other engine retries the step, and knows which errors end a run
            fields = {"run_id": run.run_id, "error": type(error).__qualname__, "place": place_of(error)}
            logger.warning("step left to a retry", extra=fields)
            return False
        # The sweep denies a pending approval at its deadline.
        return follows in ("finished", "waiting", "approval")
