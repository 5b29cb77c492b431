"""Attending to a model call: whoever waits for one keeps an eye on what it is for, and hangs up once nobody wants its reply any more.

The one retry policy stands here too (architecture 3, no hidden retries). Knows models, time, and that somebody may write to a run's log;
must not know what a reply is for.
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
from hibernaut.services.host import Host
from hibernaut.services.models.model_call import CallOutcome, CallThreads, ModelCall, WakeUp

SHORTEST_CALL = 1.0
"""Seconds that a call is given however little time the worker has left."""
logger = logging.getLogger(__name__)


class CancellationWatch:
    """Looks, now and then and when woken, whether a reply is still wanted: `check` raises where it is not.

    `run_id`: whose log wakes it, where it is a run's. `tells`: it wants the pieces of the reply. `heard`: it has had some, so that the
    reply may not be asked for again; this one never minds.
    """

    tells = False
    heard = False

    def __init__(self, host: Host, check: Callable[[], None], run_id: str | None = None) -> None:
        self._host = host
        self._clock = host.clock
        self._check = check
        self._run_id = run_id
        self._looked_at = host.clock.monotonic()

    def watched(self, wake: Callable[[], None]) -> AbstractContextManager[object]:
        """Call `wake` (from any thread) when somebody else wrote to the run's log, until the context is left."""
        own = threading.get_ident()

        def woken() -> None:
            if threading.get_ident() != own:
                wake()

        leaving = ExitStack()
        if self._run_id is not None:
            leaving.callback(self._host.signal.watch(self._run_id, woken))
        return leaving

    def due(self) -> float:
        """When, on the monotonic clock, `see_to` has something to do."""
        return self._looked_at + self._host.look

    def began(self) -> None:
        """Something of the reply has come."""

    def hear(self, deltas: Sequence[Delta]) -> None:
        """Take these pieces."""

    def see_to(self, now: float) -> None:
        """Do what is due at this time. Raises: what the check raises."""
        if now >= self._looked_at + self._host.look:
            self.look()

    def end(self, *, whole: bool) -> None:
        """The reply is `whole`, or broke off. Raises: what the check raises."""

    def look(self) -> None:
        """Raises: what the check raises."""
        self._looked_at = self._clock.monotonic()
        self._check()

    def rest(self, seconds: float) -> None:
        """Let so much time pass, looking. Raises: what the check raises."""
        until = self._clock.monotonic() + seconds
        while (left := until - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left, self._host.look))
            self.look()


class ModelRetry:
    """Makes one model call and retries it by the policy of `domain.models.retries`, while somebody wants the reply."""

    def __init__(self, models: Models, host: Host) -> None:
        self._models = models
        self._clock = host.clock
        self._ids = host.ids
        self._threads = CallThreads()

    def complete(self, request: ModelRequest, eye: CancellationWatch, deadline: float) -> ModelReply:
        """Ask, and ask again where it may help and there is time until `deadline` (monotonic). The request's timeout is for each call.

        Raises: ModelError, NotFound, and what the eye raises.
        """
        model = self._models.of(request.config)
        attempt = 0
        while True:
            attempt += 1
            left = deadline - self._clock.monotonic()
            limited = replace(request, timeout=max(SHORTEST_CALL, min(request.timeout, left)))
            try:
                return self._attended(model, limited, eye)
            except ModelError as error:
                wait = None if eye.heard else retries.delay(attempt, error, self._chance())
                if wait is None or self._clock.monotonic() + wait >= deadline:
                    raise
                logger.info("model call is tried again", extra={"code": error.code, "attempt": attempt, "seconds": wait})
                eye.rest(wait)

    def _attended(self, model: Model, request: ModelRequest, eye: CancellationWatch) -> ModelReply:
        """The reply to one call. Whatever is raised while it is waited for closes its connection."""
        now = self._clock.monotonic()
        until = now + request.timeout
        call = ModelCall(model, request, tells=eye.tells, threads=self._threads)
        with eye.watched(call.nudge), call:
            while True:
                due = min(eye.due(), until)
                news = call.news(due - now)
                now = self._clock.monotonic() if news else max(due, self._clock.monotonic())
                if call.heard:
                    eye.began()
                eye.hear([one for one in news if isinstance(one, Delta)])
                for one in news:
                    if isinstance(one, CallOutcome):
                        eye.end(whole=isinstance(one.outcome, ModelReply))
                        return one.reply()
                if any(isinstance(one, WakeUp) for one in news):
                    eye.look()
                eye.see_to(now)
                if now >= until:
                    eye.end(whole=False)
                    raise ModelTimeout(f"{request.config.handle or request.config.model}: the answer did not end in time")

    def _chance(self) -> float:
        """A number from 0 to 1, for jitter."""
        return int(self._ids.token()[:8], 16) / 0xFFFFFFFF
