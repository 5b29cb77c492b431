"""The price list as it is cut down: it is what the locked package makes, and gives the package's own prices."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.metadata import version

import pytest
from genai_prices import Usage as SourceUsage
from genai_prices import types as source
from genai_prices.data import providers
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.prices.price_list import price_list
from hibernaut.schemas.usage import Usage
from tools import price_list as tool

LIST = price_list()
SOURCE = {each.id: each for each in providers}


def names() -> Iterator[tuple[str, str]]:
    """Each provider, with names of its models and with names that only begin or end like them."""
    for provider in tool.PROVIDERS:
        for model in SOURCE[provider].models:
            yield provider, model.id
            for _, text in tool.clauses(model.match):
                yield from ((provider, name) for name in (text, f"{text}-20261103", f"us.{text}-v1:0", text.strip("^$\\d{8}-")))


NAMES = sorted(set(names()))


def the_source_prices(provider: str, model: str, moment: datetime) -> source.ModelPrice | None:
    """What the package has for a model whose answers are text for money by the token."""
    found = SOURCE[provider].find_model(model, all_providers=[SOURCE[name] for name in tool.PROVIDERS])
    prices = found.get_prices(moment) if found else None
    both = prices is not None and prices.input_mtok is not None and prices.output_mtok is not None
    return prices if both else None


@pytest.mark.parametrize("name", [tool.PRICES, tool.WINDOWS, tool.LICENCE])
def test_the_files_are_what_the_locked_package_makes(name: str) -> None:
    assert (tool.FOLDER / name).read_text(encoding="utf-8") == tool.texts(LIST.date)[name], "run: make lock"


def test_the_licence_of_the_data_and_its_copyright_stand_beside_it() -> None:
    licence = (tool.FOLDER / tool.LICENCE).read_text(encoding="utf-8")
    assert licence.startswith("The MIT License (MIT)")
    assert "Copyright (c) Pydantic Services Inc." in licence


def test_the_list_names_its_source_and_a_day_that_the_source_had_reached() -> None:
    content = tool.price_list(LIST.date)
    assert content["source"] == f"genai-prices {version('genai-prices')}"
    assert LIST.date >= date(2026, 11, 9)


def test_a_model_is_known_to_the_list_where_it_is_known_to_the_source() -> None:
    moment = datetime.combine(LIST.date, datetime.min.time(), UTC)
    known = {name for name in NAMES if LIST.prices(*name, moment)}
    assert known == {name for name in NAMES if the_source_prices(*name, moment)}
    assert len(known) > 1500


@given(
    name=st.sampled_from(NAMES),
    prompt=st.integers(0, 1_500_000),
    completion=st.integers(0, 200_000),
    shares=st.tuples(*[st.floats(0, 1)] * 4),
    minutes=st.integers(0, 400 * 24 * 60),
)
def test_any_call_costs_what_the_source_says(
    name: tuple[str, str], prompt: int, completion: int, shares: tuple[float, ...], minutes: int
) -> None:
    moment = datetime.combine(LIST.date, datetime.min.time(), UTC) + timedelta(minutes=minutes)
    cached = int(prompt * shares[0])
    written, reasoning = int((prompt - cached) * shares[1]), int(completion * shares[2])
    hour = int(written * shares[3])
    usage = Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_input_tokens=cached,
        cache_write_tokens=written,
        hour_cache_write_tokens=hour,
        reasoning_tokens=reasoning,
    )
    prices = the_source_prices(*name, moment)
    expected = prices and prices.calc_price(
        SourceUsage(
            input_tokens=prompt,
            output_tokens=completion,
            cache_read_tokens=cached,
            cache_write_tokens=written,
            cache_write_1h_tokens=hour,
            output_reasoning_tokens=reasoning,
        )
    )
    cost = LIST.cost(*name, usage, moment)
    assert cost == (expected["total_price"] if expected else None)
    assert cost is None or isinstance(cost, Decimal)
