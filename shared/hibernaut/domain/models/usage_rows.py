"""Adds the usage of steps up, by day, agent, API key and model."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC

from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.runs.usage_report import UsageRow, UsageTotal


def usage_rows(steps: Iterable[StoredStep]) -> list[UsageRow]:
    """A row for each day, agent, key and model that occurs, in this order."""
    rows: dict[tuple[str, str, str, str], UsageRow] = {}
    for step in steps:
        day, model = step.created_at.astimezone(UTC).date(), step.model_handle or step.model
        key = (day.isoformat(), step.agent_id or "", step.key_id or "", model or "")
        if key not in rows:
            rows[key] = UsageRow(day=day, agent_id=step.agent_id, key_id=step.key_id, model=model)
        _add(rows[key], _used(step))
    return [rows[key] for key in sorted(rows)]


def usage_total(rows: Iterable[UsageTotal]) -> UsageTotal:
    """The sum of rows."""
    total = UsageTotal()
    for row in rows:
        _add(total, row)
    return total


def _used(step: StoredStep) -> UsageTotal:
    return UsageTotal(
        steps=1,
        unpriced_steps=int(step.cost is None and bool(step.prompt_tokens or step.completion_tokens)),
        prompt_tokens=step.prompt_tokens or 0,
        completion_tokens=step.completion_tokens or 0,
        total_tokens=step.total_tokens or 0,
        cached_input_tokens=step.cached_input_tokens or 0,
        cache_write_tokens=step.cache_write_tokens or 0,
        reasoning_tokens=step.reasoning_tokens or 0,
        cost=step.cost,
        price_list_date=step.price_list_date,
        aws_cost=step.aws_cost,
    )


def _add(to: UsageTotal, more: UsageTotal) -> None:
    to.steps += more.steps
    to.unpriced_steps += more.unpriced_steps
    to.prompt_tokens += more.prompt_tokens
    to.completion_tokens += more.completion_tokens
    to.total_tokens += more.total_tokens
    to.cached_input_tokens += more.cached_input_tokens
    to.cache_write_tokens += more.cache_write_tokens
    to.reasoning_tokens += more.reasoning_tokens
    if more.cost is not None:
        to.cost = more.cost if to.cost is None else to.cost + more.cost
    if more.aws_cost is not None:
        to.aws_cost = more.aws_cost if to.aws_cost is None else to.aws_cost + more.aws_cost
    to.price_list_date = max(filter(None, (to.price_list_date, more.price_list_date)), default=None)
