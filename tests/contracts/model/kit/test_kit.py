"""Every scenario on every provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contracts.model.kit import (
    anthropic_messages,
    bedrock,
    bedrock_openai,
    compatible,
    gemini_native,
    openai_chat,
    openai_responses,
    vertex,
)
from tests.contracts.model.kit.engine import Engine
from tests.contracts.model.kit.scenarios import NEEDS, SCENARIOS
from tests.contracts.model.kit.server import Provider
from tests.contracts.model.kit.stage import Stage

PROVIDERS = (
    *openai_responses.PROVIDERS,
    *openai_chat.PROVIDERS,
    *anthropic_messages.PROVIDERS,
    *bedrock.PROVIDERS,
    *bedrock_openai.PROVIDERS,
    *gemini_native.PROVIDERS,
    *vertex.PROVIDERS,
    *compatible.PROVIDERS,
)


def _other(provider: Provider) -> Provider:
    """A provider of another family, on another wire."""
    return compatible.DEEPSEEK if provider in anthropic_messages.PROVIDERS else anthropic_messages.PROVIDERS[0]


@pytest.fixture
def stage(provider: Provider, tmp_path: Path) -> Iterator[Stage]:
    other = _other(provider)
    with provider.server(provider) as server, other.server(other) as second:
        engine = Engine(tmp_path, {**other.variables(second.address), **provider.variables(server.address)})
        yield Stage(provider, server, engine, second)
        engine.close()


def _cases() -> Iterator[object]:
    for provider in PROVIDERS:
        rules = {rule.name for rule in provider.rules}
        for scenario in SCENARIOS:
            if scenario in NEEDS and NEEDS[scenario] not in rules:
                continue
            yield pytest.param(provider, scenario, id=f"{provider.name}-{scenario.__name__}")


@pytest.mark.parametrize(("provider", "scenario"), list(_cases()))
def test_no_request_of_the_scenario_breaks_a_rule(provider: Provider, scenario: Callable[[Stage], None], stage: Stage) -> None:
    assert stage.provider is provider
    scenario(stage)


def test_every_rule_has_a_source_and_a_name_of_its_own() -> None:
    for provider in PROVIDERS:
        names = [rule.name for rule in provider.rules]
        assert len(set(names)) == len(names)
        assert all(rule.source for rule in provider.rules)
