"""The ports `Clock` and `Ids`."""

from __future__ import annotations

import os
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta
from threading import Barrier

import pytest

from hibernaut.adapters.clock import SystemClock, TimeOrderedIds
from hibernaut.ports.clock import Clock
from hibernaut.schemas.ids import creation_time, order_of, pattern
from tests.support.clocks import ManualClock


@pytest.fixture(params=[SystemClock, ManualClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    return request.param()


def test_the_time_is_in_utc(clock: Clock) -> None:
    assert clock.now().tzinfo is UTC


def test_no_clock_runs_backwards(clock: Clock) -> None:
    times = [clock.monotonic() for _ in range(1000)]
    assert times == sorted(times)


def test_sleeping_takes_no_negative_time(clock: Clock) -> None:
    before = clock.monotonic()
    clock.sleep(0)
    assert clock.monotonic() >= before


def test_ids_have_the_form_that_clients_check(clock: Clock) -> None:
    ids = TimeOrderedIds(clock)
    for prefix in ("agent", "message", "mcp_server"):
        assert re.fullmatch(pattern(prefix), ids.new(prefix))


def test_ids_grow_whatever_the_clock_does() -> None:
    clock = ManualClock()
    ids = TimeOrderedIds(clock)
    made = [ids.new("message") for _ in range(5000)]
    clock.time -= timedelta(hours=1)
    made += [ids.new("message") for _ in range(5000)]
    assert made == sorted(set(made))


def test_an_id_is_greater_than_the_one_it_comes_after() -> None:
    ahead, behind = ManualClock(), ManualClock()
    ahead.time += timedelta(minutes=5)
    last = TimeOrderedIds(ahead).new("message")
    ids = TimeOrderedIds(behind)
    following = ids.new("message", after=last)
    assert following > last
    assert ids.new("message") > following


def test_the_counter_runs_over_into_the_next_millisecond() -> None:
    clock = ManualClock()
    full = TimeOrderedIds(clock).new("step")
    for _ in range(4096):
        full = TimeOrderedIds(clock).new("step", after=full)
    assert order_of(full)[0] == int(clock.now().timestamp() * 1000) + 1


def test_an_id_tells_when_it_was_made() -> None:
    clock = ManualClock()
    assert creation_time(TimeOrderedIds(clock).new("run")) == clock.now()


def test_the_low_seven_bits_stay_free_for_otids(clock: Clock) -> None:
    ids = TimeOrderedIds(clock)
    assert {int(ids.new("message")[-2:], 16) & 0x7F for _ in range(200)} == {0}


def test_threads_never_share_an_id() -> None:
    ids = TimeOrderedIds(ManualClock())
    gate = Barrier(8)

    def make() -> list[str]:
        gate.wait()
        return [ids.new("message") for _ in range(500)]

    with ThreadPoolExecutor(8) as pool:
        lists = [future.result() for future in [pool.submit(make) for _ in range(8)]]
    orders = [order_of(one) for made in lists for one in made]
    assert len(set(orders)) == 4000
    assert all(made == sorted(made) for made in lists)


def test_tokens_are_never_the_same() -> None:
    ids = TimeOrderedIds(ManualClock())
    assert len({ids.token() for _ in range(1000)}) == 1000


def test_random_bits_are_asked_of_the_system_for_many_ids_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    give = secrets.token_bytes

    def counted(count: int) -> bytes:
        asked.append(count)
        return give(count)

    monkeypatch.setattr(secrets, "token_bytes", counted)
    ids = TimeOrderedIds(ManualClock())
    made = [ids.new("message") for _ in range(640)]
    assert (len(asked), len({one[-12:] for one in made})) == (10, 640)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_process_has_random_bits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = TimeOrderedIds(ManualClock())
    ids.new("message")
    left = ids._pool
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as the child of a fork sees it
    ids.new("message")
    assert not ids._pool.startswith(left[7:])
