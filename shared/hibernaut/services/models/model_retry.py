"""Model calls with cancellation and retries. While a call runs, a watch checks whether its reply is still needed; if not, the
call is aborted.

This module is the only place that retries model calls. It knows models, time, and the signal
of a run's log. It must not know the purpose of a reply.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from hibernaut.domain.models import retries
from hibernaut.ports.model import Delta, Model, ModelReply, ModelRequest, Models
from hibernaut.schemas.errors import ModelError, ModelTimeout
from hibernaut.schemas.runs.turn import FailedCall
from hibernaut.services.host import Host
from hibernaut.services.models.model_call import CallOutcome, CallThreads, ModelCall, WakeUp

SHORTEST_CALL = 1.0
"""The shortest timeout of a call in seconds, even if the worker has less time left."""
logger = logging.getLogger(__name__)


class CancellationWatch:
    """Checks periodically, and when woken, whether a reply is still needed. `check` raises if it is not.

    `run_id`: the run whose log wakes the watch; None for a call without a run. `streams`: the watch receives the pieces of the
    reply.
    `has_begun`: pieces have been received, so that the call must not be retried; in this class it stays False. `failed_calls`:
    those that this watch has seen.
    """

    streams = False
    has_begun = False

    def __init__(self, host: Host, check: Callable[[], None], run_id: str | None = None) -> None:
        self._host = host
        self._clock = host.clock
        self._check = check
        self._run_id = run_id
        self._looked_at = host.clock.monotonic()
        self.failed_calls: list[FailedCall] = []

    def watched(self, wake: Callable[[], None]) -> AbstractContextManager[object]:
        """Call `wake` when another thread or process writes to the run's log, until the context is left. `wake` must be
        thread-safe.
        """
        own = threading.get_ident()

        def woken() -> None:
            if threading.get_ident() != own:
                wake()

        leaving = ExitStack()
        if self._run_id is not None:
            leaving.callback(self._host.signal.watch(self._run_id, woken))
        return leaving

    def due(self) -> float:
        """The time on the monotonic clock at which `see_to` has work to do."""
        return self._looked_at + self._host.look

    def began(self) -> None:
        """Note that a piece of the reply has arrived."""

    def hear(self, deltas: Sequence[Delta]) -> None:
        """Receive pieces of the reply."""

    def see_to(self, now: float) -> None:
        """Check if a check is due at `now`. Raises: the error of the check."""
        if now >= self._looked_at + self._host.look:
            self.look()

    def end(self, *, whole: bool) -> None:
        """Note the end of the reply. `whole`: it is complete, not aborted. Raises: the error of the check."""

    def look(self) -> None:
        """Check now. Raises: the error of the check."""
        self._looked_at = self._clock.monotonic()
        self._check()

    def rest(self, seconds: float) -> None:
        """Wait for `seconds`, and check periodically. Raises: the error of the check."""
        until = self._clock.monotonic() + seconds
        while (remaining := until - self._clock.monotonic()) > 0:
            self._clock.sleep(min(remaining, self._host.look))
            self.look()


class ModelRetry:
    """Makes one model call and retries it by the policy of `domain.models.retries`, while somebody wants the reply."""

    def __init__(self, models: Models, host: Host, threads: CallThreads | None = None) -> None:
        """`threads`: the pool that the calls share with others; None: a pool of their own."""
        self._models = models
        self._clock = host.clock
        self._ids = host.ids
        self._threads = threads or CallThreads()

    def complete(self, request: ModelRequest, watch: CancellationWatch, deadline: float) -> ModelReply:
        """The model's reply. A failed call is retried if the policy allows it and time is left until `deadline` (monotonic). The
        request's timeout applies to each call.

        Raises: ModelError, NotFound; MasterKeyUnavailable or SecretsUnavailable if the provider's key cannot be read now, which
        the caller repeats with its step; and the error of the watch `watch`.
        """
        model = self._models.of(request.config)
        attempt = 0
        while True:
            attempt += 1
            seconds_left = deadline - self._clock.monotonic()
            limited = replace(request, timeout=max(SHORTEST_CALL, min(request.timeout, seconds_left)))
            try:
                return self._attended(model, limited, watch)
            except ModelError as error:
                wait = None if watch.has_begun else retries.delay(attempt, error, self._chance())
                if wait is not None and self._clock.monotonic() + wait >= deadline:
                    wait = None
                name = request.config.handle or request.config.model
                watch.failed_calls.append(FailedCall(model=name, code=error.code, waited=wait))
                if wait is None:
                    raise
                fields = {"model": name, "code": error.code, "attempt": attempt, "seconds": wait}
                logger.info("model call is tried again", extra=fields)
                watch.rest(wait)

    def _attended(self, model: Model, request: ModelRequest, watch: CancellationWatch) -> ModelReply:
        """The reply to one call. An error while waiting closes the connection.

        Raises: ModelError, ModelTimeout at the request's timeout, and the error of the watch.
        """
        now = self._clock.monotonic()
        until = now + request.timeout
        call = ModelCall(model, request, streams=watch.streams, threads=self._threads)
        with watch.watched(call.nudge), call:
            while True:
                due = min(watch.due(), until)
                news = call.news(due - now)
                now = self._clock.monotonic() if news else max(due, self._clock.monotonic())
                if call.has_begun:
                    watch.began()
                watch.hear([one for one in news if isinstance(one, Delta)])
                for one in news:
                    if isinstance(one, CallOutcome):
                        watch.end(whole=isinstance(one.outcome, ModelReply))
                        return one.reply()
                if any(isinstance(one, WakeUp) for one in news):
                    watch.look()
                watch.see_to(now)
                if now >= until:
                    watch.end(whole=False)
                    raise ModelTimeout(f"{request.config.handle or request.config.model}: the answer did not end in time")

    def _chance(self) -> float:
        """A number from 0 to 1, for jitter."""
        return int(self._ids.token()[:8], 16) / 0xFFFFFFFF
