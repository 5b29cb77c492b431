"""Each rule refuses what it is there to refuse, and a good request breaks none: the kit can fail, and does not fail without a
reason.
"""

from __future__ import annotations

import pytest

from tests.contracts.model.kit import gemini_native, vertex
from tests.contracts.model.kit.anthropic_models import BINDING_BETA
from tests.contracts.model.kit.bad_bedrock import BAD_BEDROCK, taken_by_bedrock
from tests.contracts.model.kit.bad_requests import BAD_REQUESTS, OPUS, Case, Change, taken
from tests.contracts.model.kit.bad_responses import BAD_RESPONSES, taken_by_responses
from tests.contracts.model.kit.bedrock import PROVIDERS as BEDROCK
from tests.contracts.model.kit.bedrock_openai import PROVIDERS as BEDROCK_OPENAI
from tests.contracts.model.kit.openai_responses import PROVIDERS as RESPONSES
from tests.contracts.model.kit.rules import first_broken
from tests.contracts.model.kit.server import Provider
from tests.contracts.model.kit.test_kit import PROVIDERS as ALL

PROVIDERS = tuple(each for each in ALL if each not in (*gemini_native.PROVIDERS, *vertex.PROVIDERS))
"""The rules of Gemini's own wire are proven by `test_gemini`, those of Vertex AI by `test_vertex`."""

BAD = (*BAD_REQUESTS, *BAD_RESPONSES, *BAD_BEDROCK)


def good(provider: Provider) -> Case:
    """A request that the provider takes."""
    if provider in (*BEDROCK, *BEDROCK_OPENAI):
        return taken_by_bedrock(provider)
    return taken_by_responses(provider) if provider in RESPONSES else taken(provider)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda each: each.name)
def test_a_good_request_breaks_no_rule(provider: Provider) -> None:
    case = good(provider)
    assert first_broken(provider.rules, case.asked, case.memory) is None


@pytest.mark.parametrize(
    ("provider", "name", "change"),
    BAD,
    ids=[f"{provider.name}-{name}-{number}" for number, (provider, name, _) in enumerate(BAD)],
)
def test_a_bad_request_breaks_its_rule(provider: Provider, name: str, change: Change) -> None:
    case = good(provider)
    change(case)
    broken = first_broken(provider.rules, case.asked, case.memory)
    assert broken is not None
    assert broken.rule.name == name, broken


def test_every_rule_has_a_bad_request() -> None:
    rules = {rule.name for provider in PROVIDERS for rule in provider.rules}
    assert rules == {name for _, name, _ in BAD}
    assert {rule.name for provider in RESPONSES for rule in provider.rules} == {name for _, name, _ in BAD_RESPONSES}


def test_blocks_that_are_bound_elsewhere_are_dropped_if_that_is_asked_for() -> None:
    case = taken(OPUS)
    case.asked.headers["anthropic-beta"] = BINDING_BETA
    case.body["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    case.body["system"] = [{"type": "text", "text": "Be brief."}]
    assert first_broken(OPUS.rules, case.asked, case.memory) is None
    assert case.memory.dropped == 2


def test_a_cache_marker_is_no_change() -> None:
    case = taken(OPUS)
    case.body["tools"][0]["cache_control"] = {"type": "ephemeral"}
    case.messages[0]["content"] = [{"type": "text", "text": "Ring.", "cache_control": {"type": "ephemeral"}}]
    assert first_broken(OPUS.rules, case.asked, case.memory) is None
