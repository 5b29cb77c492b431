"""One model call in flight, on a thread of its own, so that whoever waits for it can do other things and can hang up.

Knows the port `Model`. Must not know runs, or what a reply is for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from hibernaut.ports.model import Delta, Model, ModelReply, ModelRequest

MOST_IDLE = 16
"""Threads that wait for a call at most."""
IDLE_SECONDS = 10.0


class CallAbandoned(Exception):
    """Nobody listens to the call any more: raised inside of it, between two pieces of its reply."""


class WakeUp:
    """Somebody says that there may be something to see to."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How the call ended."""

    outcome: ModelReply | BaseException

    def reply(self) -> ModelReply:
        """Raises: what the model's adapter raised."""
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


News = Delta | WakeUp | CallOutcome


class CallThreads:
    """Daemon threads that wait for the network. One that is done waits `IDLE_SECONDS` for the next call, so that calls in a row start no
    threads. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[tuple[Callable[[], object], str]]] = []

    def run(self, job: Callable[[], object], name: str) -> None:
        """Do a job that raises nothing, on a thread that bears this name meanwhile."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put((job, name))
        else:
            threading.Thread(target=self._work, args=(job, name), daemon=True).start()

    def _work(self, job: Callable[[], object], name: str) -> None:
        inbox: SimpleQueue[tuple[Callable[[], object], str]] = SimpleQueue()
        while True:
            threading.current_thread().name = name
            job()
            del job  # what the call has held is not kept by a thread that waits
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
    """Begun by entering it; leaving it hangs up. `tells`: the pieces of the reply are news; else they only set `heard`.

    Whoever leaves does not wait for the thread: it ends as soon as its connection is closed, and nobody hears of it.
    """

    def __init__(self, model: Model, request: ModelRequest, *, tells: bool, threads: CallThreads | None = None) -> None:
        self.heard = False
        self._model = model
        self._request = request
        self._tells = tells
        self._threads = threads or CallThreads()
        self._inbox: SimpleQueue[News] = SimpleQueue()
        self._lock = threading.Lock()
        self._hung_up = False
        self._close: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        # Its thread bears the caller's name and context: what is logged in it belongs to the caller.
        body, name = copy_context(), threading.current_thread().name
        self._threads.run(lambda: body.run(self._ask), name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._hung_up, close = True, self._close
        if close is not None:
            close()

    def nudge(self) -> None:
        """Wake whoever waits for news. From any thread."""
        self._inbox.put(WakeUp())

    def news(self, seconds: float) -> list[News]:
        """All that has come in since the last time; waits for the first for so long. Empty: nothing came."""
        found: list[News] = []
        with suppress(Empty):
            found.append(self._inbox.get(timeout=max(0.0, seconds)))
            while True:
                found.append(self._inbox.get_nowait())
        return found

    def _ask(self) -> None:
        try:
            ended = CallOutcome(self._model.complete(self._request, self._hear, self._opened))
        except BaseException as error:  # noqa: BLE001  the thread's outermost line: raised again by whoever waits
            ended = CallOutcome(error)
        self._close = None
        self._inbox.put(ended)

    def _hear(self, delta: Delta) -> None:
        if self._hung_up:
            raise CallAbandoned
        self.heard = True
        if self._tells:
            self._inbox.put(delta)

    def _opened(self, close: Callable[[], None]) -> None:
        with self._lock:
            self._close = close
            if not self._hung_up:
                return
        raise CallAbandoned
