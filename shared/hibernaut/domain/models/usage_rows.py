"""Adds the usage of steps up, by day, agent, API key and model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date
from decimal import Decimal

from hibernaut.schemas.runs.step import StepUsage
from hibernaut.schemas.runs.usage_report import UsageRow, UsageTotal


def usage_rows(steps: Iterable[StepUsage]) -> list[UsageRow]:
    """A row for each day, agent, key and model that occurs, in this order."""
    groups: dict[tuple[date, str | None, str | None, str | None], list[StepUsage]] = {}
    for step in steps:
        day, model = step.created_at.astimezone(UTC).date(), step.model_handle or step.model
        groups.setdefault((day, step.agent_id, step.key_id, model), []).append(step)
    return [_row(key, groups[key]) for key in sorted(groups, key=lambda key: (key[0], *(text or "" for text in key[1:])))]


def usage_total(rows: Iterable[UsageTotal]) -> UsageTotal:
    """The sum of rows."""
    total = UsageTotal()
    for row in rows:
        _add(total, row)
    return total


def _row(key: tuple[date, str | None, str | None, str | None], steps: Sequence[StepUsage]) -> UsageRow:
    day, agent_id, key_id, model = key
    return UsageRow(
        day=day,
        agent_id=agent_id,
        key_id=key_id,
        model=model,
        steps=len(steps),
        unpriced_steps=sum(step.cost is None and bool(step.prompt_tokens or step.completion_tokens) for step in steps),
        prompt_tokens=sum(step.prompt_tokens or 0 for step in steps),
        completion_tokens=sum(step.completion_tokens or 0 for step in steps),
        total_tokens=sum(step.total_tokens or 0 for step in steps),
        cached_input_tokens=sum(step.cached_input_tokens or 0 for step in steps),
        cache_write_tokens=sum(step.cache_write_tokens or 0 for step in steps),
        reasoning_tokens=sum(step.reasoning_tokens or 0 for step in steps),
        cost=_sum([step.cost for step in steps if step.cost is not None]),
        price_list_date=max((step.price_list_date for step in steps if step.price_list_date is not None), default=None),
        aws_cost=_sum([step.aws_cost for step in steps if step.aws_cost is not None]),
    )


def _sum(amounts: Sequence[Decimal]) -> Decimal | None:
    """The sum of amounts; None of none."""
    return sum(amounts, Decimal()) if amounts else None


def _add(total: UsageTotal, part: UsageTotal) -> None:
    total.steps += part.steps
    total.unpriced_steps += part.unpriced_steps
    total.prompt_tokens += part.prompt_tokens
    total.completion_tokens += part.completion_tokens
    total.total_tokens += part.total_tokens
    total.cached_input_tokens += part.cached_input_tokens
    total.cache_write_tokens += part.cache_write_tokens
    total.reasoning_tokens += part.reasoning_tokens
    if part.cost is not None:
        total.cost = part.cost if total.cost is None else total.cost + part.cost
    if part.aws_cost is not None:
        total.aws_cost = part.aws_cost if total.aws_cost is None else total.aws_cost + part.aws_cost
    total.price_list_date = max(filter(None, (total.price_list_date, part.price_list_date)), default=None)
