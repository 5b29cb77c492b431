"""What a warm worker keeps of conversations between requests: bounded, and worthless the moment the head's version moves on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """The newest things by tenant and conversation, together at most `limit` large; the newest one stays however large. Thread-safe."""

    def __init__(self, limit: int, size: Callable[[T], int]) -> None:
        self._limit = limit
        self._size = size
        self._things: OrderedDict[tuple[str, str], tuple[T, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def get(self, tenant: str, conversation: str) -> T | None:
        with self._lock:
            found = self._things.get((tenant, conversation))
        return found[0] if found else None

    def keep(self, tenant: str, conversation: str, thing: T) -> None:
        size = max(1, self._size(thing))  # what is empty takes room too
        with self._lock:
            self._drop((tenant, conversation))
            self._things[(tenant, conversation)] = (thing, size)
            self._total += size
            while self._total > self._limit and len(self._things) > 1:
                self._drop(next(iter(self._things)))

    def forget(self, tenant: str, conversation: str) -> None:
        with self._lock:
            self._drop((tenant, conversation))

    def _drop(self, key: tuple[str, str]) -> None:
        dropped = self._things.pop(key, None)
        if dropped is not None:
            self._total -= dropped[1]
