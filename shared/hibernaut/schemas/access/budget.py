"""Budgets: limits on what a tenant, an API key or an agent may use. An extension of Hibernaut; V1 has none.

A budget belongs to one *subject*: `tenant` (the whole tenant), the id of an API key, or the id of an agent. Days and months are
those of UTC.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from hibernaut.schemas.base import Moment, Schema, StrictSchema
from hibernaut.schemas.ids import is_id, pattern
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.usage import Money

TENANT = "tenant"
"""The subject of the budget of a whole tenant."""
BudgetSubject = Annotated[str, StringConstraints(pattern=f"({pattern('agent')})|({pattern('key')})|(^{TENANT}$)")]
BudgetScope = Literal["tenant", "key", "agent"]
LimitName = Literal[
    "requests_per_second",
    "concurrent_runs",
    "steps_per_day",
    "steps_per_month",
    "tokens_per_day",
    "tokens_per_month",
    "cost_per_day",
    "cost_per_month",
]
DEFAULT_WARNING = 0.8
"""The share of a limit at which the server warns, where a budget names none."""

Rate = Annotated[int, Field(strict=True, ge=1, le=1000)]
Slots = Annotated[int, Field(strict=True, ge=1, le=10_000)]
Steps = Annotated[int, Field(strict=True, ge=1, le=10**9)]
Tokens = Annotated[int, Field(strict=True, ge=1, le=10**12)]
Cost = Annotated[Money, Field(ge=Decimal("0.000001"), le=Decimal(1_000_000), decimal_places=6)]


class BudgetLimits(Schema):
    """The limits of a budget; null: no limit. The cost of models is in USD.

    `concurrent_runs` counts accepted runs that have not ended, including queued runs. `requests_per_second`: requests of the
    tenant, requests with the key, or requests whose path names the agent.
    """

    requests_per_second: Rate | None = None
    concurrent_runs: Slots | None = None
    steps_per_day: Steps | None = None
    steps_per_month: Steps | None = None
    tokens_per_day: Tokens | None = None
    tokens_per_month: Tokens | None = None
    cost_per_day: Cost | None = None
    cost_per_month: Cost | None = None

    def limits(self) -> dict[LimitName, int | Decimal]:
        """The limits that are set, by name."""
        return {name: value for name in LIMITS if (value := getattr(self, name)) is not None}


LIMITS: tuple[LimitName, ...] = (
    "requests_per_second",
    "concurrent_runs",
    "steps_per_day",
    "steps_per_month",
    "tokens_per_day",
    "tokens_per_month",
    "cost_per_day",
    "cost_per_month",
)


class SetBudget(BudgetLimits, StrictSchema):
    """The request that sets a budget; it replaces the subject's budget as a whole. `warn_at`: the share of each limit at which
    the server warns; null: it does not.
    """

    warn_at: Annotated[float, Field(gt=0, lt=1)] | None = DEFAULT_WARNING

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if not self.limits():
            raise ValueError(f"A budget needs at least one limit: {', '.join(LIMITS)}. To remove a budget, delete it.")
        return self


class StoredBudget(BudgetLimits, Stored):
    """The record in the table."""

    subject: str
    warn_at: float | None = DEFAULT_WARNING
    created_at: Moment
    updated_at: Moment

    @classmethod
    def default(cls, limits: SetBudget | None, now: datetime) -> Self | None:
        """The budget of a tenant for which none is set, which is never stored; None: the deployment has no such limits."""
        return cls(subject=TENANT, created_at=now, updated_at=now, **limits.model_dump()) if limits is not None else None


class BudgetUse(Schema):
    """The current use of a budget by its subject. `unpriced_calls_*`: model calls with unknown cost; they add nothing to the
    cost.
    """

    concurrent_runs: int = 0
    steps_per_day: int = 0
    steps_per_month: int = 0
    tokens_per_day: int = 0
    tokens_per_month: int = 0
    cost_per_day: Money = Decimal(0)
    cost_per_month: Money = Decimal(0)
    unpriced_calls_per_day: int = 0
    unpriced_calls_per_month: int = 0

    def of(self, name: LimitName) -> int | Decimal:
        """The current value for a limit. The requests per second are not reported."""
        figure: int | Decimal = getattr(self, name, 0)
        return figure


class Budget(BudgetLimits):
    """A budget as the API shows it. `is_default`: no budget of the tenant is set, and the deployment's default applies.
    `day_ends` and `month_ends`: when the figures begin at zero again.
    """

    subject: str
    scope: BudgetScope
    is_default: bool = False
    warn_at: float | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    used: BudgetUse
    day_ends: Moment
    month_ends: Moment


class RunSlot(Schema):
    """A place among the runs that a subject may have at once. A run holds it from its acceptance to its end."""

    subject: str
    limit: int


class RunBudgets(Schema):
    """The budgets of a run, fixed when it is accepted: the subjects whose counters its steps increase, and the slots that it
    occupies.
    """

    subjects: list[str] = Field(default_factory=list)
    slots: list[RunSlot] = Field(default_factory=list)


def is_subject(text: str) -> bool:
    """Whether a text names a subject."""
    return text == TENANT or is_id(text, "key") or is_id(text, "agent")


def scope_of(subject: str) -> BudgetScope:
    """The kind of a subject."""
    return "tenant" if subject == TENANT else "key" if subject.startswith("key-") else "agent"
