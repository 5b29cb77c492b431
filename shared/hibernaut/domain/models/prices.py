"""What a model call costs in USD, by a list of public prices.

The list is data (`adapters.model.prices.price_list` reads it, `tools/price_list.py` writes it). Prices are for a million tokens.
A price with tiers depends on the prompt's length: the tier of the whole prompt holds for all tokens of the call. A price may
begin on a day or hold for some hours of each day (UTC). Where the list has no price for cached, written or reasoning tokens, they
cost what other tokens of the prompt or the completion cost.

A price list is an estimate: it knows neither discounts nor taxes. Usage must be of one call, because the tier depends on it.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.usage import Usage

MILLION, THOUSAND = Decimal(1_000_000), Decimal(1_000)
ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "azure_openai": "azure",
        "bedrock": "aws",
        "gemini": "google",
        "google_ai": "google",
        "google_vertex": "google",
        "moonshot": "moonshotai",
        "vertex": "google",
        "xai": "x-ai",
    }
)
"""The list's names of providers that handles name otherwise."""
_OPTIONAL = ("cached", "written", "written_for_an_hour", "reasoning")
_COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
_MATCHES: Final[Mapping[str, Callable[[str, str], bool]]] = MappingProxyType(
    {
        "starts": lambda name, text: name.startswith(text),
        "ends": lambda name, text: name.endswith(text),
        "contains": lambda name, text: text in name,
        "regex": lambda name, text: re.search(text, name) is not None,
    }
)


@immutable
class Rate:
    """A price. `tiers` are pairs, in order: the prompt's length above which a tier begins, and its price."""

    base: Decimal
    tiers: tuple[tuple[int, Decimal], ...] = ()

    def at(self, prompt_tokens: int) -> Decimal:
        """The price of a token in a request whose prompt has this length. A tier begins above its start, not at it."""
        return next((price for start, price in reversed(self.tiers) if prompt_tokens > start), self.base)


@immutable
class ModelPrices:
    """The prices of a model. None: as `input` (`cached`, `written`), as `written` (`written_for_an_hour`), or as `output`
    (`reasoning`). `requests` is for a thousand calls.
    """

    input: Rate
    output: Rate
    cached: Rate | None = None
    written: Rate | None = None
    written_for_an_hour: Rate | None = None
    reasoning: Rate | None = None
    requests: Decimal = Decimal(0)

    def cost(self, usage: Usage) -> Decimal:
        """The cost of one call in USD. Parts that exceed their whole are taken as the whole: the cost is never negative."""
        prompt, completion = max(0, usage.prompt_tokens), max(0, usage.completion_tokens)
        cached = _within(usage.cached_input_tokens, prompt)
        cache_writes = _within(usage.cache_write_tokens, prompt - cached)
        hour = _within(usage.hour_cache_write_tokens, cache_writes)
        reasoning = _within(usage.reasoning_tokens, completion)
        brief = self.written or self.input
        parts = (
            (self.input, prompt - cached - cache_writes),
            (self.cached or self.input, cached),
            (brief, cache_writes - hour),
            (self.written_for_an_hour or brief, hour),
            (self.output, completion - reasoning),
            (self.reasoning or self.output, reasoning),
        )
        return sum((rate.at(prompt) * tokens for rate, tokens in parts), Decimal(0)) / MILLION + self.requests / THOUSAND


@immutable
class PricePeriod:
    """When prices hold: from a day on, or between two times of each day (UTC); always, if both are None."""

    prices: ModelPrices
    since: date | None = None
    hours: tuple[time, time] | None = None

    def holds(self, moment: datetime) -> bool:
        """Whether the prices hold at this moment, in any time zone. `hours` include their begin, not their end, and may cross
        midnight.
        """
        now = moment.astimezone(UTC)
        if self.since is not None:
            return now.date() >= self.since
        if self.hours is None:
            return True
        begin, end = self.hours
        return begin <= now.time() < end if begin <= end else now.time() >= begin or now.time() < end


class PriceList:
    """The prices of many providers, by the names that providers give their models. `date` is the day of the list."""

    def __init__(self, content: JsonObject) -> None:
        self.date = date.fromisoformat(content["date"])
        self._pool: list[list[JsonObject]] = content["prices"]
        self._providers: dict[str, JsonObject] = content["providers"]

    def provider(self, name: str | None, address: str | None = None) -> str | None:
        """The list's name of a provider. Its address decides if there is one, because many servers speak one wire format."""
        if address and re.match("https?://", address):
            return next((each for each, rules in self._providers.items() if re.match(rules["address"], address)), None)
        canonical = ALIASES.get(name or "", name or "")
        return canonical if canonical in self._providers else None

    def prices(self, provider: str, model: str, moment: datetime) -> ModelPrices | None:
        """The prices of a model at a moment; None if the list has none for this model at this provider."""
        number = self._number(provider, model.lower())
        if number is None:
            return None
        periods = [_period(row) for row in self._pool[number]]
        return next((each.prices for each in reversed(periods) if each.holds(moment)), periods[0].prices)

    def cost(self, provider: str, model: str, usage: Usage, moment: datetime) -> Decimal | None:
        """The cost of one call in USD; None if it is unknown."""
        prices = self.prices(provider, model, moment)
        return None if prices is None else prices.cost(usage)

    def _number(self, provider: str, model: str) -> int | None:
        """The place of a model's prices in the pool. A date in its name that has no hyphens is tried with hyphens too."""
        if provider not in self._providers:
            return None
        for name in dict.fromkeys((model, _COMPACT_DATE.sub(r"-\1-\2-\3", model))):
            for each in (provider, *self._providers[provider]["fallbacks"]):
                for number in self._matches(each, name):
                    return number
        return None

    def _matches(self, provider: str, name: str) -> Iterator[int | None]:
        """What a provider's rules give a name, the best first; None: the model is known and has no price for its tokens."""
        rules = self._providers[provider]
        if name in rules["names"]:
            yield rules["names"][name]
        for kind, text, number in rules["patterns"]:
            if _MATCHES[kind](name, text):
                yield number


def _within(part: int | None, whole: int) -> int:
    return min(max(0, part or 0), whole)


def _period(row: JsonObject) -> PricePeriod:
    optional = {name: _rate(row[name]) for name in _OPTIONAL if name in row}
    requests = Decimal(str(row.get("requests", 0)))
    prices = ModelPrices(_rate(row["input"]), _rate(row["output"]), **optional, requests=requests)
    start = date.fromisoformat(row["from"]) if "from" in row else None
    begin, end = (time.fromisoformat(each) for each in row.get("hours", ("00:00", "00:00")))
    return PricePeriod(prices, start, (begin, end) if "hours" in row else None)


def _rate(value: Json) -> Rate:
    base, *tiers = value if isinstance(value, list) else [value]
    return Rate(Decimal(str(base)), tuple((start, Decimal(str(price))) for start, price in tiers))
