"""Applies a function to many items on a bounded number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(
    threads: int, act: Callable[[Item], Result], items: Sequence[Item], *, until: Callable[[], bool] = lambda: False
) -> list[Result]:
    """The results of `act` for the items, in the order of completion. The items begin in their order, at most `threads` at a
    time, each thread in a copy of the caller's context. Once `until` holds, no further item begins.

    With one thread, `act` runs in the caller's. Raises: an error of `act`.
    """
    source, turn, results = iter(items), Lock(), list[Result]()

    def work() -> None:
        while True:
            with turn:
                some = [] if until() else [item for item in (next(source, None),) if item is not None]
            if not some:
                return
            results.append(act(some[0]))

    workers = min(threads, len(items))
    if workers < 2:
        work()
        return results
    with ThreadPoolExecutor(workers, thread_name_prefix="parallel") as pool:
        for future in [pool.submit(copy_context().run, work) for _ in range(workers)]:
            future.result()
    return results
