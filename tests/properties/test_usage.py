"""Sums of usage: the same in any order, and a cost only where every part is known."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.schemas.usage import LettaUsageStatistics, Usage

OPTIONAL = ("cached_input_tokens", "cache_write_tokens", "hour_cache_write_tokens", "reasoning_tokens")
counts = st.integers(0, 10**6)
days = st.integers(0, 30).map(lambda number: date(2026, 11, 1) + timedelta(number))
costs = st.integers(0, 10**9).map(lambda number: Decimal(number) / 10**9)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    prompt, completion = draw(counts), draw(counts)
    priced = {"cost": draw(costs), "price_list_date": draw(days)} if prompt + completion and draw(st.booleans()) else {}
    optional = {name: draw(counts | st.none()) for name in OPTIONAL}
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return Usage.model_validate(counted | optional | priced)


def total(parts: list[Usage]) -> Usage:
    return reduce(Usage.plus, parts, Usage())


@given(st.lists(usages(), max_size=6), st.randoms(use_true_random=False))
def test_a_sum_is_the_same_in_any_order_and_in_any_grouping(parts: list[Usage], random: object) -> None:
    shuffled = parts[::-1]
    middle = len(parts) // 2
    assert total(parts) == total(shuffled) == total(parts[:middle]).plus(total(parts[middle:]))


@given(st.lists(usages(), max_size=6))
def test_a_sum_has_a_cost_if_every_call_with_tokens_has_one(parts: list[Usage]) -> None:
    billed = [part for part in parts if part.has_tokens]
    known = [part.cost for part in billed if part.cost is not None]
    assert total(parts).cost == (sum(known, Decimal(0)) if known and len(known) == len(billed) else None)
    assert (total(parts).cost is None) == (total(parts).price_list_date is None)


@given(usages())
def test_usage_is_the_same_after_it_was_stored_and_its_cost_is_a_number_in_json(usage: Usage) -> None:
    assert Usage.model_validate_json(usage.model_dump_json()) == usage
    shown = LettaUsageStatistics(**usage.model_dump()).model_dump(mode="json")
    assert shown["cost"] is None or isinstance(shown["cost"], float)
