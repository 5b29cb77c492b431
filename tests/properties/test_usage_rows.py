"""Reports of usage: nothing is lost or counted twice, whatever the steps and wherever they are divided."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.models.usage_rows import usage_rows, usage_total
from hibernaut.schemas.runs.step import StepUsage

NOW = datetime(2026, 11, 22, tzinfo=UTC)
counts = st.integers(0, 10**6) | st.none()
steps = st.builds(
    StepUsage,
    id=st.just("step-1"),
    created_at=st.integers(0, 3 * 24 * 3600).map(lambda seconds: NOW + timedelta(seconds=seconds)),
    agent_id=st.sampled_from(["agent-1", "agent-2", None]),
    key_id=st.sampled_from(["key-1", "key-2", None]),
    model=st.just("m"),
    model_handle=st.sampled_from(["openai/m", None]),
    prompt_tokens=counts,
    completion_tokens=counts,
    total_tokens=counts,
    cached_input_tokens=counts,
    cost=st.integers(0, 10**6).map(lambda number: Decimal(number) / 10**9) | st.none(),
    price_list_date=st.sampled_from([date(2026, 11, 10), None]),
    aws_cost=st.integers(0, 10**6).map(lambda number: Decimal(number) / 10**9) | st.none(),
)


@given(st.lists(steps, max_size=12))
def test_each_step_is_in_one_row_and_rows_are_in_order(made: list[StepUsage]) -> None:
    rows, total = usage_rows(made), usage_total(usage_rows(made))
    keys = [(row.day, row.agent_id or "", row.key_id or "", row.model or "") for row in rows]
    assert keys == sorted(set(keys))
    assert total.steps == len(made)
    assert total.prompt_tokens == sum(step.prompt_tokens or 0 for step in made)
    assert total.cached_input_tokens == sum(step.cached_input_tokens or 0 for step in made)
    known = [step.cost for step in made if step.cost is not None]
    assert total.cost == (sum(known, Decimal(0)) if known else None)
    on_aws = [step.aws_cost for step in made if step.aws_cost is not None]
    assert total.aws_cost == (sum(on_aws, Decimal(0)) if on_aws else None)
    assert total.unpriced_steps == sum(
        step.cost is None and (step.prompt_tokens or 0) + (step.completion_tokens or 0) > 0 for step in made
    )


@given(st.lists(steps, max_size=12), st.integers(0, 12))
def test_two_pages_have_the_total_of_the_whole(made: list[StepUsage], at: int) -> None:
    pages = [*usage_rows(made[:at]), *usage_rows(made[at:])]
    assert usage_total(pages) == usage_total(usage_rows(made))
