"""Feeding the index within a worker's time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.ids import compose
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.index_stream_worker import LEFT_TO_THE_STREAM, NEEDED_SECONDS, TOGETHER, IndexStreamWorker
from hibernaut.services.search.indexing import IndexedBatch
from hibernaut.store.memory.search_outbox import SearchOutbox
from hibernaut.store.stores import Stores

KEYS = [Key("t#TAIL#a", f"NEW#{number}") for number in range(12)]
TOLD: list[tuple[Key, Item | None]] = [(key, {}) for key in KEYS]


class Indexer:
    """Takes everything but what is refused; `naps` after so many calls."""

    def __init__(self, refused: Iterable[Key] = (), naps: int = 1000) -> None:
        self.refused, self.naps = set(refused), naps
        self.calls: list[list[Key]] = []
        self.asked = 0
        self.search_outbox: SearchOutbox | None = None

    def take(self, told: Iterable[tuple[Key, Item | None]]) -> IndexedBatch:
        keys = [key for key, _ in told]
        self.calls.append(keys)
        if len(self.calls) > self.naps:
            return IndexedBatch(0, tuple(keys), asleep=True)
        left = tuple(key for key in keys if key in self.refused)
        return IndexedBatch(len(keys) - len(left), left)

    def ask_again(self, *, going: Callable[[], bool]) -> None:
        self.asked += going()

    def collect_doubles(self) -> None:
        pass


def feeding(indexer: Indexer, clock: SystemClock | None = None) -> IndexStreamWorker:
    return IndexStreamWorker(PerTenant(lambda _tenant: indexer), clock or SystemClock())  # type: ignore[arg-type,return-value]


def for_ever() -> float:
    return 900.0


def test_all_is_taken_in_small_batches_and_what_was_refused_is_left(tmp_path: Path) -> None:
    indexer = Indexer(refused=KEYS[3:5])
    taken = feeding(indexer).take(TOLD, time_left=for_ever)
    assert (taken.done, taken.remaining, taken.asleep) == (10, (KEYS[3], KEYS[4]), False)
    assert [len(call) for call in indexer.calls] == [TOGETHER, TOGETHER, 2]


def test_a_sleeping_index_ends_it_and_nothing_is_lost(tmp_path: Path) -> None:
    indexer = Indexer(refused=KEYS[:1], naps=1)
    taken = feeding(indexer).take(TOLD, time_left=for_ever)
    assert (taken.done, taken.asleep, len(indexer.calls)) == (4, True, 2)
    assert set(taken.remaining) == {KEYS[0], *KEYS[5:]}


def test_nothing_is_begun_that_may_not_end_in_time(tmp_path: Path) -> None:
    indexer = Indexer()
    left = iter([NEEDED_SECONDS, NEEDED_SECONDS - 1])
    taken = feeding(indexer).take(TOLD, time_left=lambda: next(left))
    assert (taken.done, taken.remaining) == (5, tuple(KEYS[5:]))


def test_pointers_that_stand_since_long_are_taken_again_and_young_ones_left_to_the_stream(tmp_path: Path) -> None:
    clock, indexer = SystemClock(), Indexer()
    now = int(clock.now().timestamp() * 1000)
    old = compose("message", now - int(LEFT_TO_THE_STREAM.total_seconds() * 1000) - 1000, 0, 0)
    young = compose("message", now - 1000, 0, 0)
    foreign = "message-ffffffff-ffff-4fff-bfff-ffffffffffff"
    table = SqliteTable(tmp_path / "t.db")
    stores = Stores(table, DiskBlobs(tmp_path), clock, indexed=True).of("t")
    indexer.search_outbox = stores.search_outbox
    for message in (old, young, foreign):
        stores.writer.write(*stores.search_outbox.pointer("agent-1", "message", [message], within="agent-1"))
    taken = feeding(indexer, clock).take_again("t", time_left=for_ever)
    assert (taken.done, indexer.asked) == (2, 1)
    assert {key.sk for call in indexer.calls for key in call} == {f"NEW#{old}", f"NEW#{foreign}"}
    table.close()
