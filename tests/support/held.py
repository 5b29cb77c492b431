"""A server on a thread that pauses at chosen points, so that a test determines the interleaving of two servers. One runs at a
time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.support.tables import CountingTable
from tests.support.world import Data, World

PATIENCE = 60.0
"""Seconds after which a thread that has reached neither its point nor its end counts as stuck."""


class Worker:
    """A server on its own thread, which pauses at the points with these numbers (from 1) until the test continues it."""

    def __init__(self, data: Data, holder: str, counts: Callable[[str], bool], *stops: int) -> None:
        self._stops, self._counts = stops, counts
        self.places: list[str] = []
        self._held = False
        self._still, self._go = threading.Event(), threading.Event()
        self.world = World(
            data, holder=holder, alone=False, wrap=lambda table: CountingTable(table, lambda _, kind: self.point(kind))
        )
        self.failure: BaseException | None = None
        self.asked_again = False

    def point(self, place: str) -> None:
        if place == "before model":
            self._look()
        if not self._counts(place):
            return
        self.places.append(place)
        if len(self.places) in self._stops:
            self._held = True
            self._still.set()
            assert self._go.wait(PATIENCE)
            self._go.clear()

    def _look(self) -> None:
        """Checks that a step with a journaled reply does not ask the model again."""
        for run_id in self.world.data.sent:
            state = World(self.world.data).run(run_id)
            self.asked_again |= state.holder == self.world.host.holder and state.journal != ""

    def start(self, work: Callable[[], None]) -> None:
        """Start the work, and return when it reaches its first point or ends."""

        def body() -> None:
            try:
                work()
            except BaseException as failure:  # noqa: BLE001  shown by `end`, in the test's own thread
                self.failure = failure
            self._still.set()

        self._thread = threading.Thread(target=body, name=self.world.host.holder)
        self._thread.start()
        assert self._still.wait(PATIENCE)

    def on(self) -> None:
        """Continue until the next point, or the end."""
        if self._held:
            self._held = False
            self._still.clear()
            self._go.set()
        assert self._still.wait(PATIENCE)

    def end(self) -> None:
        self._stops = ()
        self._go.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure
