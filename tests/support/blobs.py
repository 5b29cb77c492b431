"""Blobs in memory with a clock that the test controls, and a wrapper that reports each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.blobs import BlobEntry, Blobs
from tests.support.clocks import ManualClock


class MemoryBlobs:
    """The port `Blobs` in memory. It passes the contract suite of the port. `puts`: how many bodies were ever stored; `stored`:
    their bytes, by key.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or ManualClock()
        self.kept: dict[str, tuple[bytes, datetime]] = {}
        self.puts = 0
        self.stored: dict[str, int] = {}

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:  # noqa: ARG002  memory knows no difference
        self.kept[key] = (data, self._clock.now())
        self.puts += 1
        self.stored[key] = self.stored.get(key, 0) + len(data)

    def get(self, key: str) -> bytes:
        return self.kept[key][0]

    def delete(self, key: str) -> None:
        self.kept.pop(key, None)

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        wanted = sorted(key for key in self.kept if key > after)[:limit]
        return [BlobEntry(key, self.kept[key][1], key) for key in wanted]


class CountingBlobs:
    """Calls `on_call(kind)` before and after every call, as `CountingTable` does."""

    def __init__(self, blobs: Blobs, on_call: Callable[[str], None]) -> None:
        self._blobs = blobs
        self._on_call = on_call

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        self._on_call("before put")
        self._blobs.put(key, data, durable=durable)
        self._on_call("after put")

    def get(self, key: str) -> bytes:
        return self._blobs.get(key)

    def delete(self, key: str) -> None:
        self._on_call("before delete")
        self._blobs.delete(key)
        self._on_call("after delete")

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        return self._blobs.list(after, limit=limit)


class Dated:
    """Blobs of any engine, dated by a clock that a test moves."""

    def __init__(self, blobs: Blobs, clock: ManualClock) -> None:
        self._blobs = blobs
        self._clock = clock
        self._times: dict[str, datetime] = {}

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        self._blobs.put(key, data, durable=durable)
        self._times[key] = self._clock.now()

    def get(self, key: str) -> bytes:
        return self._blobs.get(key)

    def delete(self, key: str) -> None:
        self._blobs.delete(key)

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        return [entry._replace(at=self._times[entry.key]) for entry in self._blobs.list(after, limit=limit)]
