"""One model call on its own thread, so that the waiting caller can do other work and can abort the call.

The module knows the port `Model`. It must not know runs, or the purpose of a reply.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from hibernaut.ports.model import Delta, Model, ModelReply, ModelRequest
from hibernaut.schemas.immutable import immutable

MOST_IDLE = 16
"""The maximum number of idle threads."""
IDLE_SECONDS = 10.0


class CallAbandoned(Exception):
    """The caller has aborted the call. Raised inside the call, between two pieces of its reply or when its connection opens."""


class WakeUp:
    """A wake-up for the waiting caller: there may be work to do."""


@immutable
class CallOutcome:
    """The reply of a call, or the error that it raised."""

    outcome: ModelReply | BaseException

    def reply(self) -> ModelReply:
        """The reply. Raises: the error that the model's adapter raised."""
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


News = Delta | WakeUp | CallOutcome


class CallThreads:
    """A pool of daemon threads for model calls. An idle thread waits `IDLE_SECONDS` for the next call, so that consecutive calls
    start no new threads. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[tuple[Callable[[], object], str]]] = []

    def run(self, job: Callable[[], object], name: str) -> None:
        """Run a job on a thread that has this name meanwhile. The job must not raise."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            # The job is no argument of the thread, which would keep it as long as it lives.
            threading.Thread(target=self._work, args=(inbox,), daemon=True).start()
        inbox.put((job, name))

    def _work(self, inbox: SimpleQueue[tuple[Callable[[], object], str]]) -> None:
        job, name = inbox.get()
        while True:
            threading.current_thread().name = name
            job()
            del job  # An idle thread must not keep the objects of its last call alive.
            with self._lock:
                if len(self._idle) >= MOST_IDLE:
                    return
                self._idle.append(inbox)
            try:
                job, name = inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                job, name = inbox.get()


class ModelCall:
    """One call as a context manager: entering starts it, leaving aborts it. `streams`: `news` reports the pieces of the reply;
    else a piece only sets `has_begun`.

    Leaving closes the connection and does not wait for the thread. The thread's outcome is then discarded.
    """

    def __init__(self, model: Model, request: ModelRequest, *, streams: bool, threads: CallThreads | None = None) -> None:
        self.has_begun = False
        self._model = model
        self._request = request
        self._streams = streams
        self._threads = threads or CallThreads()
        self._inbox: SimpleQueue[News] = SimpleQueue()
        self._lock = threading.Lock()
        self._hung_up = False
        self._close: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        # The thread has the caller's name and context, so that its log records belong to the caller.
        body, name = copy_context(), threading.current_thread().name
        self._threads.run(lambda: body.run(self._ask), name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._hung_up, close = True, self._close
        if close is not None:
            close()

    def nudge(self) -> None:
        """Wake the caller that waits in `news`. Thread-safe."""
        self._inbox.put(WakeUp())

    def news(self, seconds: float) -> list[News]:
        """All news since the last call. Waits up to `seconds` for the first item; empty if none arrives."""
        found: list[News] = []
        with suppress(Empty):
            found.append(self._inbox.get(timeout=max(0.0, seconds)))
            while True:
                found.append(self._inbox.get_nowait())
        return found

    def _ask(self) -> None:
        try:
            outcome = CallOutcome(self._model.complete(self._request, self._hear, self._opened))
        except BaseException as error:  # noqa: BLE001  the thread's outermost line: the waiting caller raises it again
            outcome = CallOutcome(error)
        self._close = None
        self._inbox.put(outcome)

    def _hear(self, delta: Delta) -> None:
        if self._hung_up:
            raise CallAbandoned
        self.has_begun = True
        if self._streams:
            self._inbox.put(delta)

    def _opened(self, close: Callable[[], None]) -> None:
        with self._lock:
            self._close = close
            if not self._hung_up:
                return
        raise CallAbandoned
