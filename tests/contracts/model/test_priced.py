"""A reply says what it cost: by its provider's address, its model's name and the moment at which it came."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.dialects import DIALECTS
from hibernaut.adapters.model.prices.price_list import price_list
from hibernaut.adapters.model.prices.priced import PricedModel
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.model import Delta, ModelReply, ModelRequest
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.usage import Usage
from tests.support.rows import Rows
from tests.support.scripted_model import ScriptedModels, in_turn

USED = Usage(prompt_tokens=10_000, completion_tokens=1_000, total_tokens=11_000, cached_input_tokens=8_000)
OFFICIAL, OWN = "https://api.openai.com/v1", "http://127.0.0.1:11434/v1"


def asked(
    model: str, *, provider: str = "openai", address: str | None = None, usage: Usage = USED, hour: int = 12
) -> tuple[Usage, list[Delta]]:
    scripted = ScriptedModels(in_turn(ModelReply(text="hello there", usage=usage)))
    priced = PricedModel(scripted, provider, address, now=lambda: datetime(2026, 11, 22, hour, tzinfo=UTC))
    heard: list[Delta] = []
    config = LLMConfig(model=model, model_endpoint_type="openai", context_window=8_000)
    reply = priced.complete(ModelRequest(config, "", [Rows().user("hi")]), heard.append)
    assert reply.text == "hello there"
    return reply.usage, heard


@pytest.mark.parametrize("address", [None, OFFICIAL])
def test_a_reply_has_its_cost_and_the_day_of_the_price_list(address: str | None) -> None:
    usage, heard = asked("gpt-4o-mini", address=address)
    assert usage == USED.model_copy(update={"cost": Decimal("0.0015"), "price_list_date": price_list().date})
    assert "".join(delta.text for delta in heard) == "hello there", "pieces pass as they come"


@pytest.mark.parametrize(
    ("model", "provider", "address", "usage"),
    [
        ("gpt-99", "openai", None, USED),
        ("gpt-4o-mini", "openai", OWN, USED),
        ("gpt-4o-mini", "mine", None, USED),
        ("gpt-4o-mini", "openai", None, Usage()),
    ],
)
def test_what_nobody_knows_has_no_cost(model: str, provider: str, address: str | None, usage: Usage) -> None:
    assert asked(model, provider=provider, address=address, usage=usage)[0] == usage


def test_the_price_list_knows_the_own_address_of_each_dialect() -> None:
    addresses = {dialect.name: dialect.url for dialect in DIALECTS if dialect.url}
    assert {name for name, address in addresses.items() if price_list().provider(name, address) is None} == set()
    assert len(addresses) > 8


def test_the_moment_of_the_reply_chooses_the_price() -> None:
    night, peak = (asked("deepseek-v4-pro", provider="deepseek", hour=hour)[0].cost for hour in (12, 2))
    assert night is not None
    assert peak == 2 * night


@pytest.mark.parametrize(("kind", "address"), [("openai", OFFICIAL), ("openai", OWN), ("anthropic", "https://api.anthropic.com")])
def test_every_provider_of_the_catalogue_is_priced(kind: str, address: str) -> None:
    catalogue = Catalogue(EnvironmentSecrets({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}), dial=Door(THIS_MACHINE).dial)
    config = LLMConfig(model="m", model_endpoint_type=kind, model_endpoint=address, context_window=8_000)
    assert isinstance(catalogue.of(config), PricedModel)
