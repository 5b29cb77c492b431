"""Arithmetic of budgets: windows of time, what a step spends, which limit is reached, and which was crossed. Pure.

A day and a month are those of UTC. Costs are counted in whole nanodollars, because counters are integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal

from hibernaut.schemas.access.budget import BudgetLimits, BudgetUse, LimitName, StoredBudget
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.usage import Usage

NANO = Decimal(1_000_000_000)
"""Nanodollars of a dollar."""
CONCURRENT_RUNS: LimitName = "concurrent_runs"
REQUESTS_PER_SECOND: LimitName = "requests_per_second"
Level = Literal["warning", "limit"]


@immutable
class Spending:
    """What a committed transaction has used. `unpriced`: model calls whose cost is unknown."""

    steps: int = 0
    tokens: int = 0
    nanodollars: int = 0
    unpriced: int = 0

    @classmethod
    def of(cls, usage: Usage, *, steps: int) -> Spending:
        """The spending of model calls with this usage, in so many steps."""
        cost = int((usage.cost * NANO).to_integral_value(ROUND_HALF_EVEN)) if usage.cost is not None else 0
        tokens = max(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        return cls(steps, tokens, cost, int(usage.cost is None and usage.has_tokens))

    def __bool__(self) -> bool:
        return bool(self.steps or self.tokens or self.nanodollars)


NOTHING_SPENT = Spending()


@immutable
class BudgetWindow:
    """The day and the month of a moment, and when they end."""

    day: str
    month: str
    day_ends: datetime
    month_ends: datetime

    @classmethod
    def at(cls, moment: datetime) -> BudgetWindow:
        """The window of a moment in any time zone. Days and months are those of UTC."""
        today = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        following = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
        return cls(today.strftime("%d"), today.strftime("%Y-%m"), today + timedelta(days=1), following)


@immutable
class BudgetStanding:
    """A budget and its usage. `reported`: the crossings that were reported in this window."""

    budget: StoredBudget
    used: BudgetUse
    reported: frozenset[str] = frozenset()

    def after(self, spent: Spending) -> BudgetStanding:
        """The standing after a spending."""
        usage, cost = self.used, Decimal(spent.nanodollars) / NANO
        more = {
            "steps_per_day": usage.steps_per_day + spent.steps,
            "steps_per_month": usage.steps_per_month + spent.steps,
            "tokens_per_day": usage.tokens_per_day + spent.tokens,
            "tokens_per_month": usage.tokens_per_month + spent.tokens,
            "cost_per_day": usage.cost_per_day + cost,
            "cost_per_month": usage.cost_per_month + cost,
        }
        return BudgetStanding(self.budget, usage.model_copy(update=more), self.reported)


@immutable
class BudgetCrossing:
    """A subject's use has reached its limit, or the share of it at which the server warns."""

    subject: str
    limit_name: LimitName
    level: Level
    limit: int | Decimal
    used: int | Decimal

    def mark(self, window: BudgetWindow) -> str:
        """The name of the crossing within the month of its counters. A changed limit is crossed anew."""
        day = window.day if self.limit_name.endswith("_day") else ""
        return f"told_{self.limit_name}_{self.level}_{self.limit}_{day}"


def windowed(limits: BudgetLimits) -> Mapping[LimitName, int | Decimal]:
    """The limits on the usage of a day or a month."""
    return {name: limit for name, limit in limits.limits().items() if name not in (CONCURRENT_RUNS, REQUESTS_PER_SECOND)}


def exhausted(standing: BudgetStanding) -> BudgetCrossing | None:
    """The first limit of a day or a month that is reached; None if no limit is reached."""
    return next((each for each in crossings(standing) if each.level == "limit"), None)


def crossings(standing: BudgetStanding) -> Iterator[BudgetCrossing]:
    """The limits of a day or a month that are reached, and those of which the share `warn_at` is used."""
    budget, usage = standing.budget, standing.used
    for name, limit in windowed(budget).items():
        figure = usage.of(name)
        if figure >= limit:
            yield BudgetCrossing(budget.subject, name, "limit", limit, figure)
        if budget.warn_at is not None and figure >= limit * Decimal(repr(budget.warn_at)):
            yield BudgetCrossing(budget.subject, name, "warning", limit, figure)


def resets_at(name: LimitName, window: BudgetWindow) -> datetime | None:
    """When the figure of a limit begins at zero again; None: as soon as a run or a second ends."""
    if name.endswith("_day"):
        return window.day_ends
    return window.month_ends if name.endswith("_month") else None


def seconds_until(moment: datetime, now: datetime) -> int:
    """Whole seconds, at least one."""
    return max(1, math.ceil((moment - now).total_seconds()))
