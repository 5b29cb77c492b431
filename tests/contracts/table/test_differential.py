"""The same random life on every engine: each answer must be the same, and so must what is left at the end."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import (
    Change,
    Check,
    Condition,
    ConditionFailed,
    Delete,
    Index,
    Key,
    Op,
    Put,
    Table,
    Term,
    Update,
)
from tests.support.dynamodb_local import why_not

PARTITIONS = ["T#a", "T#é"]
SORT_KEYS = ["1", "10", "2", "é", "\U0001f980"]
COUNTS = ["n", "size"]
ALL_KEYS = [Key(pk, sk) for pk, sk in itertools.product(PARTITIONS, SORT_KEYS)]

numbers = st.integers(-2, 3)
texts = st.sampled_from(["", "a", "b", "é", "10"])
placed = st.sampled_from(["X", "Y", "é"])
keys = st.sampled_from(ALL_KEYS)
counts = st.dictionaries(st.sampled_from(COUNTS), numbers, max_size=2)
others = st.dictionaries(st.sampled_from(["s", "body"]), st.one_of(texts, numbers, st.booleans()), max_size=2)
places = st.dictionaries(st.sampled_from(["due_pk", "due_sk", "list_pk", "list_sk"]), placed, max_size=4)
attributes = st.builds(lambda *parts: {name: value for part in parts for name, value in part.items()}, counts, others, places)


def _term(name: str, op: Op, value: Any) -> Term:
    if op in (Op.EXISTS, Op.MISSING):
        return Term(name, op)
    return Term(name, op, "t" if isinstance(value, bool) and op not in (Op.EQ, Op.NE) else value)


terms = st.builds(
    _term,
    st.sampled_from(["pk", "n", "s", "body", "due_sk"]),
    st.sampled_from(list(Op)),
    st.one_of(texts, numbers, st.booleans()),
)
# Mostly without: else nearly everything is refused and the tables stay empty.
conditions: st.SearchStrategy[Condition] = st.one_of(
    st.just(()), st.just(()), st.just(()), st.tuples(terms), st.tuples(terms, terms)
)


def _update(key: Key, add: dict[str, int], put: dict[str, Any], remove: list[str], when: Condition) -> Update:
    put = {name: value for name, value in put.items() if name not in add}
    left = tuple(name for name in remove if name not in add and name not in put)
    return Update(key, set=put or {} if add or put or left else {"s": "x"}, add=add, remove=left, when=when)


removals = st.lists(st.sampled_from([*COUNTS, "s", "body", "due_pk", "list_sk"]), unique=True, max_size=2)
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda key, item, when: Put({"pk": key.pk, "sk": key.sk, **item}, when), keys, attributes, conditions),
    st.builds(_update, keys, counts, attributes, removals, conditions),
    st.builds(Delete, keys, conditions),
    st.builds(lambda key, term: Check(key, (term,)), keys, terms),
)
bound = st.one_of(st.none(), st.sampled_from([*SORT_KEYS, "0", "15", "z"]))


def _outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except ConditionFailed as failure:
        return failure.failed


class SameLife(RuleBasedStateMachine):
    """One table of each engine, and every call made on all of them."""

    def __init__(self, makers: list[Callable[[Path], Table]]) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._tables = [make(Path(self._folder.name)) for make in makers]

    def same(self, ask: Callable[[Table], Any]) -> None:
        first, *rest = [_outcome(lambda table=table: ask(table)) for table in self._tables]  # type: ignore[misc]
        for answer in rest:
            assert answer == first

    @rule(change=changes)
    def write_one(self, change: Change) -> None:
        self.same(lambda table: table.write(change))

    @rule(several=st.lists(changes, min_size=2, max_size=4, unique_by=lambda change: change.key))
    def write_several(self, several: list[Change]) -> None:
        self.same(lambda table: table.write(*several))

    @rule(
        pk=st.sampled_from(PARTITIONS),
        after=bound,
        before=bound,
        prefix=st.sampled_from(["", "1", "é"]),
        limit=st.one_of(st.none(), st.integers(1, 3)),
        descending=st.booleans(),
        names=st.sampled_from([(), ("n",), ("body", "s"), ("sk",)]),
    )
    def query(self, pk: str, **asked: Any) -> None:
        self.same(lambda table: table.query(pk, **asked))

    @rule(index=st.sampled_from(list(Index)), pk=placed, after=st.one_of(st.none(), placed), before=st.one_of(st.none(), placed))
    def query_index(self, index: Index, pk: str, after: str | None, before: str | None) -> None:
        def ask(table: Table) -> Any:
            found = table.query(pk, index=index, after=after, before=before)
            return [item[f"{index}_sk"] for item in found], sorted(tuple(sorted(item.items())) for item in found)

        self.same(ask)

    @rule(some=st.lists(keys, max_size=6))
    def get_many(self, some: list[Key]) -> None:
        self.same(lambda table: table.get_many(some))

    def teardown(self) -> None:
        try:
            self.same(lambda table: table.get_many(ALL_KEYS))
        finally:
            for table in self._tables:
                if isinstance(table, SqliteTable):
                    table.close()
            self._folder.cleanup()


def test_every_engine_lives_the_same_life(request: pytest.FixtureRequest, new_moto_table: Callable[[], Table]) -> None:
    makers: list[Callable[[Path], Table]] = [lambda folder: SqliteTable(folder / "table.db"), lambda _: new_moto_table()]
    if why_not() is None:
        server = request.getfixturevalue("dynamodb_local")
        makers.append(lambda _: server.new_table())
    # Not shrunk: a life has few steps, and each attempt to shorten it is lived through on three engines.
    lives = settings(max_examples=40, stateful_step_count=25, phases=(Phase.explicit, Phase.reuse, Phase.generate))
    run_state_machine_as_test(lambda: SameLife(makers), settings=lives)
