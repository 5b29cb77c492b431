"""What a call costs: figures worked out by hand from the providers' published prices, and the rules of tiers, days and hours."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.prices.price_list import price_list
from hibernaut.domain.models.prices import ModelPrices, PriceList, Rate
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.usage import Usage

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LIST = price_list()


def usage(prompt: int, completion: int = 0, *, cached: int | None = None, written: int | None = None) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_input_tokens=cached, cache_write_tokens=written)


@pytest.mark.parametrize(
    ("provider", "model", "used", "cost"),
    [
        # 0.15 in, 0.075 cached, 0.6 out
        ("openai", "gpt-4o-mini", usage(1_000_000, 100_000), "0.21"),
        ("openai", "gpt-4o-mini", usage(10_000, 1_000, cached=8_000), "0.0015"),
        # 2.5 in, 0.25 cached, 15 out; above 272,000: 5, 0.5, 22.5
        ("openai", "gpt-5.4", usage(272_000, 1_000), "0.695"),
        ("openai", "gpt-5.4", usage(272_001, 1_000, cached=272_000), "0.158505"),
        # 5 in, 0.5 cached, 6.25 written, 25 out
        ("anthropic", "claude-opus-4-8", usage(100_000, 2_000, cached=60_000, written=30_000), "0.3175"),
        # … and 10 for what stays written for an hour
        (
            "anthropic",
            "claude-opus-4-8",
            Usage(prompt_tokens=1_000, cache_write_tokens=1_000, hour_cache_write_tokens=400),
            "0.00775",
        ),
        # 3 in, 15 out
        ("anthropic", "claude-sonnet-4-5-20250929", usage(1_000, 100), "0.0045"),
        ("azure", "gpt-4o-mini", usage(1_000_000), "0.15"),
    ],
)
def test_published_prices_give_these_costs(provider: str, model: str, used: Usage, cost: str) -> None:
    assert LIST.cost(provider, model, used, NOON) == Decimal(cost)


@pytest.mark.parametrize(("hour", "cost"), [(0, "0.66"), (1, "1.32"), (3, "1.32"), (4, "0.66"), (6, "1.32"), (10, "0.66")])
def test_a_price_of_some_hours_holds_within_them(hour: int, cost: str) -> None:
    assert LIST.cost("deepseek", "deepseek-v4-pro", usage(1_000_000), NOON.replace(hour=hour)) == Decimal(cost)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-99"), ("openai", "whisper-1"), ("openai", ""), ("nobody", "gpt-4o"), ("anthropic", "gpt-4o")],
)
def test_what_the_list_does_not_know_has_no_cost(provider: str, model: str) -> None:
    assert LIST.cost(provider, model, usage(10), NOON) is None


@pytest.mark.parametrize(
    ("name", "address", "provider"),
    [
        ("openai", "https://api.openai.com/v1", "openai"),
        ("openai", "http://127.0.0.1:11434/v1", None),
        ("openai", "https://api.groq.com/openai/v1", "groq"),
        ("mine", "https://api.deepseek.com", "deepseek"),
        ("bedrock", None, "aws"),
        ("bedrock", "https://bedrock-runtime.eu-west-1.amazonaws.com", "aws"),
        ("google_vertex", None, "google"),
        ("anthropic", "in this process", "anthropic"),
        ("letta", None, None),
        (None, None, None),
    ],
)
def test_the_address_says_who_bills_and_the_name_only_where_there_is_none(
    name: str | None, address: str | None, provider: str | None
) -> None:
    assert LIST.provider(name, address) == provider


def made(*periods: JsonObject) -> PriceList:
    rules = {"address": "https://nowhere", "fallbacks": [], "names": {"m": 0}, "patterns": []}
    return PriceList({"date": "2026-11-10", "prices": [list(periods)], "providers": {"p": rules}})


def test_a_price_begins_on_its_day() -> None:
    prices = made({"input": 1, "output": 1}, {"from": "2026-12-01", "input": 2, "output": 2})
    last, first = datetime(2026, 11, 30, 23, 59, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    assert [prices.cost("p", "m", usage(1_000_000), moment) for moment in (last, first)] == [1, 2]


def test_hours_may_pass_midnight() -> None:
    prices = made({"input": 1, "output": 1}, {"hours": ["22:00", "02:00"], "input": 2, "output": 2})
    costs = [prices.cost("p", "m", usage(1_000_000), NOON.replace(hour=hour)) for hour in (21, 22, 1, 2)]
    assert costs == [1, 2, 2, 1]


rates = st.builds(
    Rate,
    st.decimals(0, 100, places=4),
    st.lists(st.tuples(st.integers(1, 10**6), st.decimals(0, 200, places=4)), max_size=2, unique_by=lambda tier: tier[0]).map(
        lambda tiers: tuple(sorted(tiers))
    ),
)
flat = st.builds(Rate, st.decimals(0, 100, places=4))
counts = st.integers(-5, 2 * 10**6)
used = st.builds(
    Usage,
    prompt_tokens=counts,
    completion_tokens=counts,
    cached_input_tokens=counts | st.none(),
    cache_write_tokens=counts | st.none(),
    hour_cache_write_tokens=counts | st.none(),
    reasoning_tokens=counts | st.none(),
)


@given(st.builds(ModelPrices, rates, rates, *[rates | st.none()] * 4), used)
def test_no_usage_costs_less_than_nothing_and_parts_cost_no_more_than_the_dearest_rate(prices: ModelPrices, usage: Usage) -> None:
    dearest = max(
        price
        for rate in (prices.input, prices.output, prices.cached, prices.written, prices.written_for_an_hour, prices.reasoning)
        if rate
        for price in (rate.base, *(price for _, price in rate.tiers))
    )
    tokens = max(0, usage.prompt_tokens) + max(0, usage.completion_tokens)
    assert 0 <= prices.cost(usage) <= dearest * tokens / 1_000_000


@given(st.builds(ModelPrices, flat, flat, *[flat | st.none()] * 4), st.data())
def test_without_tiers_two_calls_cost_what_one_with_all_their_tokens_costs(prices: ModelPrices, data: st.DataObject) -> None:
    def call() -> Usage:
        parts = data.draw(st.tuples(*[st.integers(0, 10**6)] * 6))
        return Usage(
            prompt_tokens=parts[0] + parts[1] + parts[2] + parts[5],
            completion_tokens=parts[3] + parts[4],
            cached_input_tokens=parts[1],
            cache_write_tokens=parts[2] + parts[5],
            hour_cache_write_tokens=parts[5],
            reasoning_tokens=parts[4],
        )

    one, two = call(), call()
    assert prices.cost(one) + prices.cost(two) == prices.cost(one.plus(two))


@given(used, st.integers(0, 10**6))
def test_a_longer_reply_never_costs_less(usage: Usage, more: int) -> None:
    prices = LIST.prices("openai", "gpt-5.4", NOON)
    assert prices is not None
    longer = usage.model_copy(update={"completion_tokens": usage.completion_tokens + more})
    assert prices.cost(longer) >= prices.cost(usage)
