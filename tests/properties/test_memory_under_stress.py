"""Eight threads write, delete and search memory while the workers of the index are stopped, killed, held up and started again,
and while the index is emptied: a search sees every write that ended before it began, or says that it may not. In the end index
and table agree.

Nothing here waits for time to pass: a worker begins when so many things were written, and ends, or is held, at a call that is
drawn.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.memories import Killed, Kind, Memories, memories
from tests.support.world import TENANT

THREADS = 8
ROUNDS = 30
"""Of each thread; all that is written is within the bound of what a search looks at."""
ALL = 500


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memories]:
    made = memories(tmp_path)
    yield made
    made.close()


class Ledger:
    """What has certainly been written, and what has certainly been deleted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: set[str] = set()
        self._deleted: set[str] = set()

    def write(self, text: str) -> None:
        with self._lock:
            self._written.add(text)

    def forget(self, text: str) -> None:
        """It is about to be deleted: whether a search still sees it is open."""
        with self._lock:
            self._written.discard(text)

    def deleted(self, text: str) -> None:
        with self._lock:
            self._deleted.add(text)

    def now(self) -> tuple[frozenset[str], frozenset[str]]:
        with self._lock:
            return frozenset(self._written), frozenset(self._deleted)


class Client:
    """One thread's part. `sees_all`: no search may say that it is incomplete."""

    def __init__(self, memory: Memories, number: int, ledger: Ledger, tokens: threading.Semaphore, *, sees_all: bool) -> None:
        self.memory = memory
        self.number = number
        self.kind: Kind = "file" if number % 4 == 3 else "passage"
        self.ledger = ledger
        self.tokens = tokens
        self.sees_all = sees_all
        self.drawn = random.Random(number)

    def live(self, together: threading.Barrier) -> int:
        """How many searches were whole."""
        together.wait()
        whole = 0
        mine: list[tuple[str, str]] = []
        for turn in range(ROUNDS):
            text = f"{self.kind} of memory number{self.number}x{turn}"
            (one,) = self.memory.write(self.kind, text)
            self.ledger.write(text)
            mine.append((one, text))
            self.tokens.release()
            whole += self.look(text)
            whole += self.look("memory", limit=ALL)
            if turn % 4 == 3:
                self.delete(*mine.pop(self.drawn.randrange(len(mine))))
                whole += self.look("memory", limit=ALL)
        return whole

    def delete(self, one: str, text: str) -> None:
        self.ledger.forget(text)
        self.memory.delete(self.kind, one)
        self.ledger.deleted(text)
        self.tokens.release()

    def look(self, query: str, *, limit: int = 10) -> bool:
        written, deleted = self.ledger.now()
        searched = self.memory.found(self.kind, query, limit=limit)
        texts = [hit.record.text for hit in searched.hits]
        assert len(texts) == len(set(texts)), "something was found twice"
        assert not deleted & set(texts), "something came back"
        if searched.incomplete:
            assert not self.sees_all
            return False
        written &= self.ledger.now()[0]  # without what others began to delete meanwhile
        expected = {text for text in written if text.startswith(self.kind)} if limit == ALL else {query}
        assert expected <= set(texts), expected - set(texts)
        return True


class Indexers:
    """Workers of the index, one after the other and some beside each other. Each may be killed, or held while others work."""

    def __init__(self, memory: Memories, seed: int, *, empties: bool) -> None:
        self.memory = memory
        self.drawn = random.Random(seed)
        self.empties = empties
        self.held: list[tuple[threading.Event, threading.Thread]] = []
        self.errors: list[BaseException] = []
        self.killed = 0

    def live(self, tokens: threading.Semaphore, over: threading.Event) -> None:
        tokens.acquire()
        self.work(dies_at=40)  # when it has found something to do
        while not over.is_set():
            for _ in range(self.drawn.randint(1, 12)):  # so much is written while nobody indexes
                tokens.acquire()
            match self.drawn.choice(("works", "dies", "dies", "is held", "is released", "empties")):
                case "works":
                    self.work()
                case "dies":
                    self.work(dies_at=self.drawn.randint(1, 120))
                case "is held":
                    self.hold(self.drawn.randint(1, 120))
                case "is released" if self.held:
                    self.release(self.drawn.randrange(len(self.held)))
                case "empties" if self.empties:
                    self.memory.reindexing().begin([TENANT], lambda _seen: None)
                    self.memory.reindexing().of(TENANT).end()
        while self.held:
            self.release(0)

    def work(self, dies_at: int = 0) -> None:
        calls = 0

        def hook(_call: str) -> None:
            nonlocal calls
            calls += 1
            if calls == dies_at:
                raise Killed

        try:
            self.memory.worker(hook).drain()
        except Killed:
            self.killed += 1

    def hold(self, at: int) -> None:
        """A worker that stands still at one of its calls, until it is released."""
        gate, stands = threading.Event(), threading.Event()
        calls = 0

        def hook(_call: str) -> None:
            nonlocal calls
            calls += 1
            if calls == at:
                stands.set()
                gate.wait()

        def work() -> None:
            try:
                self.memory.worker(hook).drain()
            except BaseException as error:
                self.errors.append(error)
                raise
            finally:
                stands.set()

        thread = threading.Thread(target=work)
        thread.start()
        stands.wait()
        self.held.append((gate, thread))

    def release(self, number: int) -> None:
        gate, thread = self.held.pop(number)
        gate.set()
        thread.join()


@pytest.mark.parametrize("empties", [False, True], ids=["the index stays", "the index is emptied"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_search_sees_every_earlier_write_whatever_becomes_of_the_indexers(
    memory: Memories, seed: int, empties: bool
) -> None:
    ledger, tokens, over = Ledger(), threading.Semaphore(0), threading.Event()
    together = threading.Barrier(THREADS)
    clients = [Client(memory, number, ledger, tokens, sees_all=not empties) for number in range(THREADS)]
    indexers = Indexers(memory, seed, empties=empties)
    with ThreadPoolExecutor(THREADS + 1) as pool:
        indexing = pool.submit(indexers.live, tokens, over)
        lives = [pool.submit(client.live, together) for client in clients]
        errors = [error for life in lives if (error := life.exception())]
        over.set()
        tokens.release(1000)
        indexing.result()
    assert [*errors, *indexers.errors] == []
    assert indexers.killed
    assert sum(life.result() for life in lives) > 0
    assert memory.worker().drain()
    assert memory.agree()
    assert memory.reindexing().of(TENANT).end() or empties
    for client in clients[2:4]:
        client.sees_all = False
        client.look("memory", limit=ALL)


def test_beyond_the_bound_a_search_that_misses_something_says_so(memory: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hibernaut.services.search.hybrid_search.TAIL_RECORDS", 5)
    memory.write("passage", *(f"memory number{each}" for each in range(7)))
    searched = memory.found("passage", "number0")
    assert searched.incomplete
    assert memory.worker().drain()
    searched = memory.found("passage", "number0")
    assert (searched.incomplete, searched.hits[0].record.text) == (False, "memory number0")
