"""The port `RunSignal`: a notice wakes or is found by looking, and patience is short."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from hibernaut.adapters.signal import PollingSignal, ProcessSignal
from hibernaut.ports.runs.signal import RunSignal

RUN, OTHER = "run-1", "run-2"


@pytest.fixture(params=[ProcessSignal, PollingSignal])
def signal(request: pytest.FixtureRequest) -> RunSignal:
    return request.param()


def test_a_notice_that_nobody_waits_for_is_fine(signal: RunSignal) -> None:
    signal.notify(RUN)


def test_who_has_left_is_not_woken(signal: RunSignal) -> None:
    woken: list[str] = []
    leave = signal.watch(RUN, lambda: woken.append(RUN))
    leave()
    leave()
    signal.notify(RUN)
    assert woken == []


def test_patience_grows_and_stays_short(signal: RunSignal) -> None:
    waits = [signal.patience(looks) for looks in range(100)]
    assert waits == sorted(waits)
    assert 0 < waits[0] < waits[-1] <= 5


def test_polling_stays_between_50_and_250_milliseconds() -> None:
    assert (PollingSignal().patience(0), PollingSignal().patience(1000)) == (0.05, 0.25)


def test_each_watcher_of_a_run_is_woken_and_no_other() -> None:
    signal = ProcessSignal()
    woken: list[str] = []
    signal.watch(RUN, lambda: woken.append("first"))
    leave = signal.watch(RUN, lambda: woken.append("second"))
    signal.watch(OTHER, lambda: woken.append("other"))
    signal.notify(RUN)
    leave()
    signal.notify(RUN)
    assert woken == ["first", "second", "first"]


def test_a_watcher_may_leave_while_it_is_woken() -> None:
    signal = ProcessSignal()
    woken: list[int] = []

    def wake() -> None:
        woken.append(1)
        leave()

    leave = signal.watch(RUN, wake)
    signal.notify(RUN)
    signal.notify(RUN)
    assert woken == [1]


def test_a_notice_from_another_thread_wakes() -> None:
    signal, awake = ProcessSignal(), Event()
    signal.watch(RUN, awake.set)
    thread = Thread(target=signal.notify, args=(RUN,))
    thread.start()
    thread.join()
    assert awake.is_set()
