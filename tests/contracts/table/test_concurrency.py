"""Writers side by side, on every engine. Barriers let them meet; nothing is timed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hibernaut.ports.storage.table import ABSENT, Check, ConditionFailed, Contended, Key, Put, Table, Update, eq

A, B = Key("T#a", "1"), Key("T#b", "1")
THREADS = 8


def side_by_side(work: Callable[[int], int]) -> list[int]:
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> int:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_no_optimistic_increment_is_lost(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "n": 0}), Put({"pk": "T#b", "sk": "1", "n": 0}))

    def increment(_: int) -> int:
        done = 0
        while done < 5:
            seen = int((table.get(A) or {})["n"])
            try:
                table.write(Update(A, set={"n": seen + 1}, when=eq(n=seen)), Update(B, add={"n": 1}))
                done += 1
            except (ConditionFailed, Contended):
                continue
        return done

    side_by_side(increment)
    assert (table.get(A) or {})["n"] == (table.get(B) or {})["n"] == 5 * THREADS


def test_adding_needs_no_condition(table: Table) -> None:
    def add(_: int) -> int:
        for _attempt in range(5):
            table.write(Update(A, add={"n": 1}))
        return 0

    side_by_side(add)
    assert table.get(A) == {"pk": "T#a", "sk": "1", "n": 5 * THREADS}


def test_of_all_who_put_where_nothing_is_one_wins_and_the_others_see_it(table: Table) -> None:
    for race in range(5):
        sk = f"race-{race}"

        def put(number: int, sk: str = sk) -> int:
            try:
                table.write(Put({"pk": "T#a", "sk": sk, "winner": number}, when=ABSENT))
            except ConditionFailed as failure:
                return int((failure.failed[0] or {})["winner"])
            return number

        winner = (table.get(Key("T#a", sk)) or {}).get("winner")
        winners = side_by_side(put)
        winner = (table.get(Key("T#a", sk)) or {})["winner"]
        assert winners == [winner] * THREADS


def test_two_transactions_that_check_what_the_other_writes_never_both_succeed(table: Table) -> None:
    for race in range(5):
        table.write(Put({"pk": "T#a", "sk": "1", "n": 0}), Put({"pk": "T#b", "sk": "1", "n": 0}))

        def write(number: int) -> int:
            mine, other = (A, B) if number % 2 else (B, A)
            try:
                table.write(Update(mine, set={"n": number + 1}, when=eq(n=0)), Check(other, eq(n=0)))
            except (ConditionFailed, Contended):
                return 0
            return 1

        assert sum(side_by_side(write)) == 1, race
