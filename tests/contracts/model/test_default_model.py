"""Which model of a provider is the default for agents that are created without one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.default_model import PREFERRED, default_model
from hibernaut.adapters.model.dialects import DIALECTS, Dialect
from hibernaut.adapters.model.prices.context_windows import Limits, ProviderPlace
from hibernaut.adapters.model.prices.price_list import price_list
from hibernaut.schemas.models.llm_config import ModelDescription
from tests.contracts.model.test_catalogue import Kept
from tests.support.provider_servers import ScriptedOpenAI

GROQ = (
    ("allam-2-7b", 4_096),
    ("canopylabs/orpheus-v1-english", 4_000),
    ("meta-llama/llama-guard-4-12b", 131_072),
    ("meta-llama/llama-prompt-guard-2-22m", 512),
    ("openai/gpt-oss-120b", 131_072),
    ("whisper-large-v3", 448),
)


def rows(*models: tuple[str, int]) -> list[ModelDescription]:
    place = ProviderPlace("mine", "openai", "http://127.0.0.1:1/v1")
    return [place.model(name, Limits(window)) for name, window in models]


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.url], ids=lambda each: each.name)
def test_every_public_provider_has_preferred_models(dialect: Dialect) -> None:
    assert PREFERRED[dialect.name]


def test_on_the_list_of_groq_neither_the_first_model_nor_a_guard_is_the_default() -> None:
    with ScriptedOpenAI(models=[{"id": name, "context_window": window} for name, window in GROQ]) as server:
        catalogue = Catalogue(Kept(GROQ_API_KEY="k", GROQ_BASE_URL=server.url))
        assert catalogue.default_handle() == "groq/openai/gpt-oss-120b"
        assert [row.handle for row in catalogue.list() if row.provider_name == "groq"] == [
            "groq/openai/gpt-oss-120b",
            "groq/allam-2-7b",
        ]


@pytest.mark.parametrize(
    ("listed", "default"),
    [
        ((("a", 4_096), ("b", 16_000), ("c", 128_000)), "b"),
        ((("a-guard-4", 128_000), ("b", 128_000)), "b"),
        ((("a", 4_096), ("b", 8_192)), "a"),
        ((), None),
    ],
)
def test_where_no_model_is_preferred_a_small_window_and_another_use_are_passed_over(
    listed: tuple[tuple[str, int], ...], default: str | None
) -> None:
    assert default_model("vllm", rows(*listed), official=False) == default


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.url], ids=lambda each: each.name)
def test_the_preferred_models_are_priced_under_their_names(dialect: Dialect) -> None:
    prices = price_list()
    billed_by = prices.provider(dialect.name, None)
    assert billed_by is not None
    moment = datetime(2026, 11, 10, tzinfo=UTC)
    assert [name for name in PREFERRED[dialect.name] if prices.prices(billed_by, name, moment) is None] == []
