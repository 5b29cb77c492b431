"""The embedded profile in processes that a signal kills."""

from __future__ import annotations

import threading
from collections import deque

from hibernaut.wiring import embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.proof.at_rest import TableAtRest
from tests.proof.clients import TENANT
from tests.proof.place import Place
from tests.support.hashing_embedder import OneEmbedder
from tests.support.world import World

PATIENCE = 60.0


class HomeDesk:
    """The port `Desk` over the embedded profile. Runs advance on this thread if possible."""

    def __init__(self, server: embedded.Embedded, place: Place) -> None:
        self.server, self.place, self._started = server, place, deque[str]()
        engine = server.engines.of(TENANT)
        self.stores, self.termination, self.sending = server.stores.of(TENANT), engine.termination, engine.sending
        self.schedules, self.clock, self.fire = engine.schedules, server.host.clock, engine.firing.fire
        self.documents = engine.agent_documents

    def looking(self) -> World:
        return self.place.over(TableAtRest(self.server.table))

    def start(self, run_id: str) -> None:
        self._started.append(run_id)

    def drive(self) -> None:
        while self._started:
            self.sending.start(self._started.popleft(), inline=True)
        self.settle()

    def settle(self) -> None:
        """Wait until no run can advance. The end of a run wakes the wait. It waits only while it watches every run that can
        advance: the next run of a queue may start, and end, between two reads."""
        woken, watched = threading.Event(), set[str]()
        while True:
            woken.clear()
            running = self.place.running(self.looking())
            if not running:
                return
            for run_id in running - watched:
                self.server.host.signal.watch(run_id, woken.set)
            if running <= watched:
                assert woken.wait(PATIENCE), "a run does not end"
            watched |= running


def opened(place: Place) -> embedded.Embedded:
    """The server. Its embedder needs no files of a model, which each process would read again."""
    overrides = embedded.EmbeddedOverrides(table=place.wrap, models=place.models, runner=place.runner, embedders=OneEmbedder())
    return embedded.Embedded(EmbeddedSettings(data=place.folder / "data"), overrides)


def live_embedded(place: Place) -> None:
    server = opened(place)
    place.makes_agent(server.table)
    with server:
        place.lives(HomeDesk(server, place))


def settle_embedded(place: Place) -> None:
    """The next process: resumes unfinished work at its start, then serves one more message."""
    with opened(place) as server:
        desk = HomeDesk(server, place)
        place.judged(desk, desk.looking)
