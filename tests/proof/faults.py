"""Fault injection: the points at which a server writes its table or calls the outside world, and the fault at one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from hibernaut.ports.storage.blobs import BlobEntry, Blobs

OUTSIDE = ("write", "model", "tool", "start", "end_wait", "blob")


def is_outside(place: str) -> bool:
    """Whether a point is a write to the table or an outside call: model, tool runner, workflow, blobs."""
    return place.partition(" ")[2] in OUTSIDE


class Died(BaseException):
    """The process has died. Not an `Exception`, so that no code under test catches it."""


@dataclass
class Points:
    """Counts the points that `counts` accepts, and calls `strikes` at number `at` (0: never). After death every point raises
    Died.
    """

    at: int
    strikes: Callable[[], None]
    counts: Callable[[str], bool] = is_outside
    seen: int = 0
    struck: str = ""
    dead: bool = False
    places: list[str] = field(default_factory=list)

    def point(self, place: str) -> None:
        if self.dead:
            raise Died(place)
        if not self.counts(place) or self.struck:
            return
        self.seen += 1
        if self.seen == self.at:
            self.struck = place
            self.strikes()


@dataclass
class PausedPoints(Points):
    """Points of a process that stands still as a whole while a fault lasts, which returns: its other threads wait at their next
    point.

    A worker that waits for a streamed reply would else see the hours pass for which the model's thread is held up.
    """

    _still: AbstractContextManager[bool] = field(default_factory=threading.RLock)

    def point(self, place: str) -> None:
        with self._still:
            super().point(place)


class WatchedBlobs:
    """A wrapper of `Blobs` that calls `at` before and after each call."""

    def __init__(self, blobs: Blobs, at: Callable[[str], None]) -> None:
        self._blobs, self._at = blobs, at

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        self._at("before blob")
        self._blobs.put(key, data, durable=durable)
        self._at("after blob")

    def get(self, key: str) -> bytes:
        self._at("before blob")
        data = self._blobs.get(key)
        self._at("after blob")
        return data

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        return self._blobs.list(after, limit=limit)

    def delete(self, key: str) -> None:
        self._at("before blob")
        self._blobs.delete(key)
        self._at("after blob")
