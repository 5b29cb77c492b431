"""A bounded number of threads handles items in their order."""

from __future__ import annotations

from contextvars import ContextVar
from threading import Barrier, current_thread

import pytest

from hibernaut.services.parallel_map import in_parallel

REQUEST: ContextVar[str] = ContextVar("request")


def test_as_many_items_as_there_are_threads_are_handled_at_once() -> None:
    together = Barrier(4, timeout=20)
    assert sorted(in_parallel(4, lambda item: item + 0 * together.wait(), range(8))) == list(range(8))


def test_one_thread_is_the_callers_own_and_keeps_the_order() -> None:
    seen = in_parallel(1, lambda item: (item, current_thread()), range(3))
    assert seen == [(number, current_thread()) for number in range(3)]


@pytest.mark.parametrize("threads", [1, 4])
def test_no_item_begins_once_the_time_is_over(threads: int) -> None:
    begun: list[int] = []
    in_parallel(threads, begun.append, range(100), until=lambda: len(begun) >= 10)
    assert 10 <= len(begun) < 10 + threads
    assert sorted(begun) == list(range(len(begun)))


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_goes_to_the_caller(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel(threads, lambda item: 1 // item, [1, 0, 1])


def test_logs_of_the_threads_belong_to_the_callers_request() -> None:
    REQUEST.set("sweep 1")
    together = Barrier(3, timeout=20)
    assert in_parallel(3, lambda _: REQUEST.get() + "!" * (0 * together.wait()), range(3)) == ["sweep 1"] * 3
