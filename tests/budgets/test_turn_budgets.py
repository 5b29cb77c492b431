"""What a warm turn with two model calls costs on AWS, and how long it takes beside its model: `turn_budgets.json` holds the
limits.

The counts are those of `benchmarks/turn_costs.py`, which prices them by a list with a date.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.turn_costs import MODEL_SECONDS, Turn, both
from hibernaut.domain.aws_prices import cost_of
from hibernaut.schemas.aws_use import AwsUse
from tests.support.metered_table import read_units, size, write_units

BUDGETS = json.loads((Path(__file__).parent / "turn_budgets.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def turns() -> dict[str, Turn]:
    return both()


@pytest.mark.parametrize("kind", sorted(BUDGETS))
def test_a_turn_stays_within_its_budget(kind: str, turns: dict[str, Turn]) -> None:
    turn, budget = turns[kind], BUDGETS[kind]
    found = {
        "before_the_model": turn.before_the_model,
        "over_the_model_ms": turn.over_the_model_ms,
        "transitions": turn.transitions,
        "dollars_per_1000": sum(turn.dollars().values()),
    }
    assert {name: value for name, value in found.items() if value > budget[name]} == {}, turn.places


def test_a_waiting_turn_asks_the_model_in_the_function_that_waits(turns: dict[str, Turn]) -> None:
    assert turns["blocking"].models == {"stream": 2}
    assert turns["background"].models == {"advance_turn": 2}
    assert turns["background"].invocations == {"api": 1, "advance_turn": 1}


EXACT = ("gigabyte_seconds", "invocations", "gateway_requests", "transitions")
AFTER_THE_END = 6
"""Read units of the reply, which is put together after the run's last transaction."""


@pytest.mark.parametrize("kind", sorted(BUDGETS))
def test_a_run_tells_within_a_twentieth_what_it_used_of_aws(kind: str, turns: dict[str, Turn]) -> None:
    turn = turns[kind]
    told, requests = turn.told["aws"], turn.invocations.total()
    assert {name: told[name] for name in EXACT} == {
        "gigabyte_seconds": turn.models.total() * MODEL_SECONDS,
        "invocations": requests,
        "gateway_requests": 1,
        "transitions": turn.transitions,
    }
    assert told["write_units"] == pytest.approx(turn.written, rel=0.05)
    assert turn.read - AFTER_THE_END <= told["read_units"] <= turn.read
    counted = AwsUse(**{**told, "read_units": turn.read, "write_units": turn.written})
    assert turn.told["aws_cost"] == pytest.approx(float(cost_of(counted)), rel=0.05)


def test_units_are_counted_by_the_rules_of_dynamodb() -> None:
    small = {"pk": "a", "sk": "b"}
    large = {**small, "text": "x" * 1100}
    due = {**small, "due_pk": "DUE", "due_sk": "1"}
    assert (size(small), size({"n": 123, "b": True}), read_units([]), read_units([large] * 4)) == (6, 6, 1, 2)
    assert [write_units(*pair, 1) for pair in ((None, small), (large, small), (None, due), (due, {**due, "due_sk": "2"}))] == [
        1,
        2,
        2,
        3,
    ]
    assert write_units(due, {**due, "more": "x"}, 2) == 2
