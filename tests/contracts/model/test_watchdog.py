"""Time limits of blocking work: what takes too long is aborted by a thread that all limits share."""

from __future__ import annotations

import threading

from hibernaut.adapters.model.wire.watchdog import Watchdog
from tests.support.provider_http import PATIENCE

LOOK = 0.001


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "watchdog"]


def test_work_that_takes_too_long_is_aborted_while_other_work_goes_on() -> None:
    limits, first, second = Watchdog(LOOK), threading.Event(), threading.Event()
    with limits.limit(PATIENCE * 1000, second.set), limits.limit(0.0, first.set):
        assert first.wait(PATIENCE)
    assert not second.is_set()


def test_an_abort_that_fails_leaves_the_other_limits_in_force() -> None:
    limits, called, aborted = Watchdog(LOOK), threading.Event(), threading.Event()

    def fail() -> None:
        called.set()
        raise OSError("the connection is closed already")

    with limits.limit(0.0, fail):
        assert called.wait(PATIENCE)
    with limits.limit(0.0, aborted.set):
        assert aborted.wait(PATIENCE)


def test_work_that_ended_in_time_is_never_aborted() -> None:
    limits, aborted, looked = Watchdog(LOOK), threading.Event(), threading.Event()
    with limits.limit(0.0005, aborted.set):
        pass
    was_aborted = aborted.is_set()  # at the moment at which it ended
    with limits.limit(0.0, looked.set):
        assert looked.wait(PATIENCE)  # by then the first limit has passed
    assert aborted.is_set() is was_aborted


def test_all_limits_share_one_thread_which_ends_when_nothing_has_a_limit_any_more() -> None:
    before = {*watchers()}
    limits, ended = Watchdog(LOOK, idle=0.0), threading.Event()
    with limits.limit(PATIENCE * 1000, ended.set), limits.limit(PATIENCE * 1000, ended.set):
        (thread,) = {*watchers()} - before
    thread.join(PATIENCE)
    assert not thread.is_alive()
    with limits.limit(0.0, ended.set):
        assert ended.wait(PATIENCE), "the next limit has a thread again"
