"""The clock of the embedded server: it sleeps until the earliest time, and fires each schedule at its own."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.schedules.clock_thread import ScheduleClock
from hibernaut.ports.storage.table import Key
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.agents.schedule import CreateSchedule
from hibernaut.store.schedules import schedule_keys
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings

ONE, TWO = Key("a", "SCHEDULE"), Key("b", "SCHEDULE")
PATIENCE = 30.0


def now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def test_the_clock_waits_for_the_earliest_time_and_for_nothing_if_there_is_none() -> None:
    clock = ScheduleClock(SystemClock())
    assert clock.wait(0) is None
    clock.note(ONE, 5_000)
    clock.note(TWO, 2_000)
    assert clock.wait(500) == 1.5
    assert (clock.due(1_999), clock.due(2_000), clock.due(9_000)) == ([], [TWO], [ONE])
    assert clock.wait(9_000) is None
    clock.close()


def test_a_time_that_is_noted_while_the_clock_sleeps_wakes_it() -> None:
    fired, heard = list[Key](), threading.Event()

    def fire(place: Key) -> None:
        fired.append(place)
        if len(fired) == 2:
            heard.set()
        raise ValueError("one that fails keeps no other one from being fired")

    clock = ScheduleClock(SystemClock())
    clock.bind(fire)
    clock.note(ONE, now_ms() + 3_600_000)
    clock.open()
    clock.note(TWO, now_ms())
    clock.note(TWO, now_ms() + 20)
    assert heard.wait(PATIENCE)
    clock.close()
    assert fired == [TWO, TWO]
    clock.start([ONE])
    assert len(fired) == 2, "a closed clock fires nothing"


@pytest.fixture
def folder(tmp_path: Path) -> EmbeddedSettings:
    return EmbeddedSettings(data=tmp_path, default_model="hibernaut/demo")


def scheduled(server: Embedded, after: timedelta) -> tuple[str, str]:
    """An agent, and its schedule of one time."""
    services = services_of(server.stores, server.host, server.engines).of("default")
    agent = services.agents.creation.create(CreateAgentRequest(name="a")).id
    at = datetime.now(UTC) + after
    body = {"messages": [{"role": "user", "content": "wake up"}], "schedule": {"scheduled_at": at.timestamp() * 1000}}
    return agent, services.schedules.create(agent, CreateSchedule.model_validate(body), None).id


def fired(server: Embedded) -> threading.Event:
    """Set when a schedule has been fired."""
    done, fire = threading.Event(), server.engines.fire

    def told(place: Key) -> None:
        assert schedule_keys.is_schedule(place)
        fire(place)
        done.set()

    server.schedules.bind(told)
    return done


def test_the_server_fires_at_the_time_and_what_it_missed_after_a_restart(folder: EmbeddedSettings) -> None:
    with Embedded(folder) as server:
        done = fired(server)
        agent, first = scheduled(server, timedelta(milliseconds=150))
        assert done.wait(PATIENCE)
        services = services_of(server.stores, server.host, server.engines).of("default")
        (outcome,) = services.schedules.retrieve(first, agent).outcomes
        assert outcome.scheduled_at is not None
        assert outcome.fired_at >= outcome.scheduled_at
    stopped = Embedded(folder)
    agent, missed = scheduled(stopped, timedelta(milliseconds=50))
    stopped.close()
    server = Embedded(folder)
    done = fired(server)
    with server:
        assert done.wait(PATIENCE)
        services = services_of(server.stores, server.host, server.engines).of("default")
        assert len(services.schedules.retrieve(missed, agent).outcomes) == 1
