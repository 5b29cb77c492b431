"""The arithmetic of budgets: windows in UTC, spending, and the limits that are reached or crossed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hibernaut.domain.budgets import BudgetStanding, BudgetWindow, Spending, crossings, exhausted, seconds_until
from hibernaut.schemas.access.budget import LIMITS, BudgetUse, SetBudget, StoredBudget
from hibernaut.schemas.usage import Usage

NOON = datetime(2026, 12, 31, 12, tzinfo=UTC)


def standing(used: BudgetUse, **fields: object) -> BudgetStanding:
    limits = SetBudget.model_validate(fields).model_dump()
    return BudgetStanding(StoredBudget(subject="tenant", created_at=NOON, updated_at=NOON, **limits), used)


def test_days_and_months_are_those_of_utc() -> None:
    late = datetime(2026, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-3)))
    window = BudgetWindow.at(late)
    assert (window.month, window.day) == ("2027-01", "01")
    assert window.day_ends == datetime(2027, 1, 2, tzinfo=UTC)
    assert window.month_ends == datetime(2027, 2, 1, tzinfo=UTC)


@given(st.integers(946_684_800, 4_102_444_800))
def test_a_moment_lies_in_its_window(second: int) -> None:
    moment = datetime.fromtimestamp(second, UTC)
    window = BudgetWindow.at(moment)
    assert moment < window.day_ends <= window.month_ends <= moment + timedelta(days=31)
    assert BudgetWindow.at(window.month_ends).month > window.month
    assert BudgetWindow.at(window.day_ends - timedelta(microseconds=1)).day == window.day


def test_a_spending_counts_costs_in_whole_nanodollars_and_steps_without_a_price() -> None:
    usage = Usage(prompt_tokens=7, completion_tokens=3, total_tokens=10, cost=Decimal("0.0000000154"))
    assert Spending.of(usage, steps=1) == Spending(steps=1, tokens=10, nanodollars=15)
    unpriced = Usage(prompt_tokens=7, completion_tokens=3, total_tokens=10)
    assert Spending.of(unpriced, steps=1) == Spending(steps=1, tokens=10, unpriced=1)
    assert not Spending.of(Usage(), steps=0)


def test_a_limit_is_reached_when_all_of_it_is_used() -> None:
    assert exhausted(standing(BudgetUse(tokens_per_day=99), tokens_per_day=100)) is None
    reached = exhausted(standing(BudgetUse(tokens_per_day=100), tokens_per_day=100))
    assert reached is not None
    assert (reached.limit_name, reached.limit, reached.used) == ("tokens_per_day", 100, 100)


def test_a_warning_comes_before_the_limit_and_can_be_left_out() -> None:
    used = BudgetUse(cost_per_month=Decimal("0.8"))
    assert [each.level for each in crossings(standing(used, cost_per_month=1))] == ["warning"]
    assert not list(crossings(standing(used, cost_per_month=1, warn_at=None)))
    spent = standing(used, cost_per_month=1).after(Spending(nanodollars=200_000_000))
    assert [each.level for each in crossings(spent)] == ["limit", "warning"]


def test_a_raised_limit_is_crossed_anew() -> None:
    window, used = BudgetWindow.at(NOON), BudgetUse(steps_per_day=100)
    marks = [next(crossings(standing(used, steps_per_day=limit))).mark(window) for limit in (50, 60)]
    assert marks[0] != marks[1]


def test_a_wait_is_at_least_a_second() -> None:
    assert seconds_until(NOON, NOON) == 1
    assert seconds_until(NOON + timedelta(seconds=1.2), NOON) == 2


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [0, -1, 10**18, True, "many", float("inf")])
def test_a_limit_out_of_bounds_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        SetBudget.model_validate({name: value})
    assert [error["loc"][0] for error in refused.value.errors()] == [name]


def test_a_budget_without_a_limit_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least one limit"):
        SetBudget.model_validate({})
    with pytest.raises(ValidationError, match="tokens_per_week"):
        SetBudget.model_validate({"tokens_per_week": 1, "tokens_per_day": 1})


def test_costs_have_at_most_six_decimals() -> None:
    assert SetBudget.model_validate({"cost_per_day": 0.000001}).cost_per_day == Decimal("0.000001")
    with pytest.raises(ValidationError):
        SetBudget.model_validate({"cost_per_day": "0.0000001"})
