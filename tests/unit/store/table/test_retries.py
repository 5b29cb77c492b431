"""Trying again: what is tried, for how long, and what the caller is told in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import (
    PRESENT,
    Change,
    Check,
    ConditionFailed,
    Contended,
    Delete,
    Item,
    Key,
    OutcomeUnknown,
    PartlyRead,
    Put,
    Query,
    Table,
    TableError,
    TooLarge,
    Update,
    eq,
)
from hibernaut.schemas.errors import StoreUnavailable
from hibernaut.store.stores import Stores
from hibernaut.store.table.retries import BUDGET, FIRST_DELAY, LONGEST_DELAY, RETRY_AFTER, RetryingTable, RetryPolicy
from hibernaut.store.table.writer import Writer
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.tables import CountingTable, LosesResponses, PassesOn

KEY = Key("tenant#AGENTS", "agent-1")
ITEM = {"pk": KEY.pk, "sk": KEY.sk, "name": "one"}
READS: dict[str, Callable[[RetryingTable], object]] = {
    "get": lambda table: table.get(KEY),
    "get_many": lambda table: table.get_many([KEY]),
    "query": lambda table: table.query(KEY.pk),
}


class NotingClock(ManualClock):
    """Keeps how long it was slept."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        super().sleep(seconds)


class Failures:
    """Raises these one after the other, the last again and again where `forever`; counts what it is asked."""

    def __init__(self, *errors: Exception, forever: bool = False) -> None:
        self.errors, self.forever, self.asked = list(errors), forever, 0

    def __call__(self, *_: object) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors[0] if self.forever else self.errors.pop(0)
        return "well"


@pytest.mark.parametrize("error", [Contended("throttled"), OutcomeUnknown("no answer")])
def test_what_passes_is_tried_again(error: TableError) -> None:
    attempt = Failures(error, error, error)
    assert RetryPolicy(NotingClock(), Random(1)).run(attempt) == "well"
    assert attempt.asked == 4


@pytest.mark.parametrize("error", [ConditionFailed({}), TooLarge("5 MB"), TableError("no such table")])
def test_what_does_not_pass_is_raised_at_once(error: TableError) -> None:
    clock, attempt = NotingClock(), Failures(error, forever=True)
    with pytest.raises(type(error)):
        RetryPolicy(clock, Random(1)).run(attempt)
    assert (attempt.asked, clock.slept) == (1, [])


def test_what_never_passes_is_given_up_within_the_budget() -> None:
    clock, attempt = NotingClock(), Failures(Contended("throttled"), forever=True)
    with pytest.raises(StoreUnavailable) as raised:
        RetryPolicy(clock, Random(1)).run(attempt)
    assert BUDGET - LONGEST_DELAY < clock.passed <= BUDGET
    assert attempt.asked == len(clock.slept) + 1 > 5
    assert (raised.value.code, raised.value.retry_after) == ("store_unavailable", RETRY_AFTER)


def test_only_a_write_says_that_nothing_was_changed_and_only_if_that_is_certain(tmp_path: Path) -> None:
    def told(*errors: Exception, read: bool = False) -> str:
        failures = Failures(*errors, *[Contended("throttled")] * 1000)
        table = CountingTable(SqliteTable(tmp_path / "t.db"), lambda _n, moment: moment.startswith("before") and failures())
        policy = RetryPolicy(NotingClock(), Random(1))
        with pytest.raises(StoreUnavailable) as raised:
            RetryingTable(table, policy).get(KEY) if read else Writer(table, policy).write(Put(KEY, ITEM))
        return raised.value.detail

    assert "Nothing was changed" in told()
    assert "is not known" in told(OutcomeUnknown("no answer"))
    assert "changed" not in told(read=True)
    assert "was made" not in told(read=True)


def test_the_time_of_the_tries_counts_against_the_budget() -> None:
    clock = NotingClock()

    def slow() -> None:
        clock.passed += BUDGET
        raise Contended("timed out")

    with pytest.raises(StoreUnavailable):
        RetryPolicy(clock, Random(1)).run(slow)
    assert clock.slept == []


def test_waits_are_drawn_from_the_whole_of_a_growing_span() -> None:
    """Full jitter: of many callers, some wait hardly at all and some almost the longest, at each try."""
    by_try: dict[int, list[float]] = {}
    for seed in range(200):
        clock = NotingClock()
        RetryPolicy(clock, Random(seed)).run(Failures(*[Contended("throttled")] * 4))
        for number, wait in enumerate(clock.slept):
            by_try.setdefault(number, []).append(wait)
    for number, waits in by_try.items():
        longest = min(FIRST_DELAY * 2**number, LONGEST_DELAY)
        assert 0 <= min(waits) < longest / 10 < longest * 9 / 10 < max(waits) <= longest


def test_two_processes_draw_different_waits() -> None:
    slept = []
    for _ in range(2):
        clock = NotingClock()
        RetryPolicy(clock).run(Failures(*[Contended("throttled")] * 3))
        slept.append(clock.slept)
    assert slept[0] != slept[1]


@pytest.mark.parametrize("read", READS)
def test_every_read_is_tried_again(tmp_path: Path, read: str) -> None:
    failures = Failures(Contended("throttled"), Contended("throttled"))

    def at(_: int, moment: str) -> None:
        if moment == f"before {read}":
            failures()

    engine = SqliteTable(tmp_path / "table.db")
    engine.write(Put(ITEM))
    table = RetryingTable(CountingTable(engine, at), RetryPolicy(NotingClock(), Random(1)))
    assert READS[read](table)
    assert failures.asked == 3
    engine.close()


def test_the_stores_read_through_the_policy(tmp_path: Path) -> None:
    failures = Failures(Contended("throttled"))

    def at(_: int, moment: str) -> None:
        if moment.startswith("before"):
            failures()

    engine = SqliteTable(tmp_path / "table.db")
    stores = Stores(CountingTable(engine, at), DiskBlobs(tmp_path), ManualClock()).of("tenant")
    assert stores.agents.get("agent-1") is None
    assert failures.asked == 2
    engine.close()


def test_a_write_whose_answer_is_lost_finds_its_own_success(tmp_path: Path) -> None:
    engine = SqliteTable(tmp_path / "table.db")
    writer = Writer(LosesResponses(engine, after=[1]), RetryPolicy(NotingClock(), Random(1)))
    writer.write(Put({**ITEM, "wt": "mine"}, when=()), token="mine")
    assert engine.get(KEY) == {**ITEM, "wt": "mine"}
    engine.close()


OTHER = Key("tenant#AGENTNAMES", "one")
DELETION: dict[str, list[Change]] = {
    "one": [Delete(KEY, eq(name="one"))],
    "two": [Delete(KEY, eq(name="one")), Delete(OTHER, PRESENT)],
    "a put": [Delete(KEY, eq(name="one")), Put({"pk": OTHER.pk, "sk": OTHER.sk, "gone": 7})],
    "a conditional put": [Delete(KEY, eq(name="one")), Put({"pk": OTHER.pk, "sk": OTHER.sk, "here": 2}, eq(here=1))],
    "an update": [Delete(KEY, eq(name="one")), Update(OTHER, set={"gone": 7}, remove=("here",))],
    "a check": [Delete(KEY, eq(name="one")), Check(OTHER, PRESENT)],
}


@pytest.mark.parametrize("changes", DELETION.values(), ids=DELETION)
@pytest.mark.parametrize("lost", ["after", "before"])
def test_a_deletion_whose_answer_is_lost_finds_its_own_success(tmp_path: Path, lost: str, changes: list[Change]) -> None:
    engine = SqliteTable(tmp_path / "table.db")
    engine.write(Put(ITEM), Put({"pk": OTHER.pk, "sk": OTHER.sk, "here": 1}))
    freed = [change if change.key != KEY else Delete(KEY, change.when, "records/x") for change in changes]
    blobs = MemoryBlobs()
    blobs.put("records/x", b"")
    table = LosesResponses(engine, **{lost: [1]})  # type: ignore[arg-type]
    Writer(table, RetryPolicy(NotingClock(), Random(1)), blobs=blobs).write(*freed)
    assert engine.get(KEY) is None
    assert blobs.kept == {}
    engine.close()


@pytest.mark.parametrize(
    "left",
    [
        Check(Key("tenant#AGENTNAMES", "two"), PRESENT),
        Delete(OTHER, PRESENT),
        Put({"pk": OTHER.pk, "sk": OTHER.sk, "gone": 7}),
        Update(OTHER, set={"gone": 7, "wt": "mine"}),
        Update(OTHER, set={"here": 1}, add={"gone": 1}),
        Update(OTHER, set={"here": 1}, remove=("wt",)),
    ],
    ids=lambda change: type(change).__name__,
)
def test_a_deletion_by_somebody_else_leaves_the_other_changes_to_do(tmp_path: Path, left: Change) -> None:
    """The request is lost, and then somebody deletes the item. `OTHER` has the token, of an earlier write."""
    engine = SqliteTable(tmp_path / "table.db")
    engine.write(Put(ITEM), Put({"pk": OTHER.pk, "sk": OTHER.sk, "here": 1, "wt": "mine"}))

    class Overtaken(PassesOn):
        def write(self, *changes: Change) -> None:
            if engine.get(KEY) is not None:
                engine.write(Delete(KEY))
                raise OutcomeUnknown("the request is lost")
            engine.write(*changes)

    with pytest.raises(ConditionFailed):
        Writer(Overtaken(engine), RetryPolicy(NotingClock(), Random(1))).write(Delete(KEY, eq(name="one")), left, token="mine")
    engine.close()


def test_a_deletion_of_a_missing_item_fails_if_every_answer_came(tmp_path: Path) -> None:
    engine = SqliteTable(tmp_path / "table.db")
    with pytest.raises(ConditionFailed):
        Writer(engine, RetryPolicy(NotingClock(), Random(1))).write(Delete(KEY, PRESENT))
    engine.close()


@pytest.mark.parametrize(("lost", "told"), [("after", "not known"), ("before", "not known")])
def test_a_writer_who_never_hears_is_told_that_nobody_knows(tmp_path: Path, lost: str, told: str) -> None:
    engine = SqliteTable(tmp_path / "table.db")
    table = LosesResponses(engine, **{lost: range(1, 1000)})  # type: ignore[arg-type]
    with pytest.raises(StoreUnavailable, match=told):
        Writer(table, RetryPolicy(NotingClock(), Random(1))).write(Put(ITEM))
    engine.close()


class ThrottledQueries(PassesOn):
    """Answers as the engine behind a network: each query fails by itself, every seventh one, and the others are told."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.asked = 0

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        found = {}
        for place, one in enumerate(queries):
            self.asked += 1
            if self.asked % 7:
                found[place] = one.run(self._table.query)
        if len(found) < len(queries):
            raise PartlyRead("throttled", found)
        return [found[place] for place in range(len(queries))]


def test_of_queries_that_are_sent_together_only_the_failed_ones_are_sent_again(tmp_path: Path) -> None:
    """A sweep asks 64 shards at once: all of them would hardly ever succeed together while the table is throttled."""
    engine = SqliteTable(tmp_path / "table.db")
    for shard in range(64):
        engine.write(Put({"pk": f"T#{shard}", "sk": "1", "n": shard}))
    clock = NotingClock()
    throttled = ThrottledQueries(engine)
    table = RetryingTable(throttled, RetryPolicy(clock, Random(1)))
    found = table.query_many([Query(f"T#{shard}") for shard in range(64)])
    assert [[item["n"] for item in items] for items in found] == [[shard] for shard in range(64)]
    assert throttled.asked == 64 + 9 + 1
