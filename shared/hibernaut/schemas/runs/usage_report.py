"""What was used over time (GET /v1/usage, which V1 does not have)."""

from datetime import date

from hibernaut.schemas.base import Schema
from hibernaut.schemas.usage import Money


class UsageTotal(Schema):
    """Sums over steps. `cost` is the sum in USD over the steps with a known price (null: there are none); `unpriced_steps` counts
    the other steps with tokens. `aws_cost` is the estimated price of the steps on AWS (null: not on AWS).
    """

    steps: int = 0
    unpriced_steps: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Money | None = None
    price_list_date: date | None = None
    aws_cost: Money | None = None


class UsageRow(UsageTotal):
    """The sums of one day (UTC), agent, API key and model. `model` is the handle, or the name of a model without one. `key_id`
    null: a server without keys.
    """

    day: date
    agent_id: str | None = None
    key_id: str | None = None
    model: str | None = None


class UsageReport(Schema):
    """The rows, ordered by day, agent, key and model, and their total. `next` is the cursor for the steps that were not read;
    null: all were.
    """

    rows: list[UsageRow]
    total: UsageTotal
    next: str | None = None
