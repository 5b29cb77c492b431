"""Token usage (Letta V1 API, API 4.7 and 4.8; RT 13.3). Null means that no step reported the figure, not zero.

The cost is an addition to V1, whose clients ignore it.
"""

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import PlainSerializer

from hibernaut.schemas.aws_use import AwsUse
from hibernaut.schemas.base import Frozen, Schema

Money = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""An amount in USD: exact in calculations, a number in JSON."""


class Usage(Frozen):
    """The usage of one model call in tokens. `hour_cache_write_tokens` is the part of `cache_write_tokens` that stays cached for
    an hour, at a higher price. `cost` is in USD by the price list of `price_list_date`; None: the price is unknown.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    hour_cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: Money | None = None
    price_list_date: date | None = None

    def plus(self, other: "Usage") -> "Usage":
        """The sum. A count is null only if both are null; the cost is null if the cost of any call with tokens is unknown."""
        priced = [each for each in (self, other) if each.cost is not None]
        is_priced = bool(priced) and all(each.cost is not None or not each.has_tokens for each in (self, other))
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_input_tokens=_sum(self.cached_input_tokens, other.cached_input_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, other.cache_write_tokens),
            hour_cache_write_tokens=_sum(self.hour_cache_write_tokens, other.hour_cache_write_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
            cost=sum((each.cost for each in priced if each.cost is not None), Decimal(0)) if is_priced else None,
            price_list_date=max((each.price_list_date for each in priced if each.price_list_date), default=None)
            if is_priced
            else None,
        )

    @property
    def has_tokens(self) -> bool:
        return self.prompt_tokens > 0 or self.completion_tokens > 0


class CalledUsage(Frozen):
    """What the runs that answered the calls of a group have used: their model steps and the usage of these."""

    steps: int = 0
    usage: Usage = Usage()

    def plus(self, other: "CalledUsage | None") -> "CalledUsage":
        """The sum."""
        return self if other is None else CalledUsage(steps=self.steps + other.steps, usage=self.usage.plus(other.usage))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


class LettaUsageStatistics(Schema):
    """The usage of a run in replies and streams; `context_tokens` is the size of the context after the last step.

    `cost` is in USD by the price list of `price_list_date`; null: the price of a call is unknown. `aws_cost` is an estimate of
    what the run cost on AWS, in USD by the prices of `aws_price_list_date`; null: not on AWS.
    """

    message_type: Literal["usage_statistics"] = "usage_statistics"
    completion_tokens: int = 0
    prompt_tokens: int = 0
    total_tokens: int = 0
    step_count: int = 0
    run_ids: list[str] | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    context_tokens: int | None = None
    cost: Money | None = None
    price_list_date: date | None = None
    aws_cost: Money | None = None
    aws_price_list_date: date | None = None


class PromptTokensDetails(Schema):
    """Details of the prompt's tokens."""

    cached_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None


class CompletionTokensDetails(Schema):
    """Details of the completion's tokens."""

    reasoning_tokens: int | None = None


class UsageStatistics(Schema):
    """The usage as the API reports it on request; details are present only if a provider reported them."""

    completion_tokens: int = 0
    prompt_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
    cost: Money | None = None
    price_list_date: date | None = None

    @classmethod
    def of(cls, usage: Usage) -> Self:
        """The usage in this form. Counts of cached, written or reasoning tokens that are None leave their details out."""
        cached, written, reasoning = usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens
        details = PromptTokensDetails(cached_tokens=cached, cache_read_tokens=cached, cache_creation_tokens=written)
        return cls(
            completion_tokens=usage.completion_tokens,
            prompt_tokens=usage.prompt_tokens,
            total_tokens=usage.total_tokens,
            prompt_tokens_details=None if cached is None and written is None else details,
            completion_tokens_details=None if reasoning is None else CompletionTokensDetails(reasoning_tokens=reasoning),
            cost=usage.cost,
            price_list_date=usage.price_list_date,
        )


class RunUsage(UsageStatistics):
    """The body of GET /v1/runs/{id}/usage: the usage of the steps, as in V1, and the usage of the summaries (null: none).

    `aws`: what the run used of AWS, and `aws_cost` its price; null: not on AWS.
    """

    summaries: UsageStatistics | None = None
    aws: AwsUse | None = None
    aws_cost: Money | None = None
    aws_price_list_date: date | None = None
