"""The table of Anthropic's models: which row a name finds, and what holds for all rows."""

from __future__ import annotations

from typing import get_args

import pytest
from anthropic.types.model import Model
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.models.anthropic_models import LEVELS, NEWEST, PLAIN, AnthropicTraits, ThinkingEffort, is_listed, traits_of

NAMED = get_args(get_args(Model)[0])
"""The models that the SDK names."""


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-5-5@20260922", "claude-opus-5-5"),
        ("claude-opus-5", "claude-opus-5"),
        ("Claude-Haiku-4-5", "claude-haiku-4-5"),
    ],
)
def test_a_name_finds_its_row_in_every_providers_spelling(name: str, row: str) -> None:
    assert traits_of(name) == traits_of(row)
    assert is_listed(name)


@pytest.mark.parametrize("name", ["claude-opus-6", "claude-saga-1", "claude-sonnet-51"])
def test_an_unknown_claude_is_taken_for_the_newest(name: str) -> None:
    assert (traits_of(name), is_listed(name)) == (NEWEST, False)


@pytest.mark.parametrize("name", ["gpt-5.4", "llama3", "", "claud"])
def test_a_model_of_another_maker_has_no_traits(name: str) -> None:
    assert (traits_of(name), is_listed(name)) == (PLAIN, False)


@pytest.mark.parametrize("name", NAMED)
def test_every_model_that_the_sdk_names_has_a_row(name: str) -> None:
    assert is_listed(name)


@pytest.mark.parametrize("name", NAMED)
def test_what_is_taken_for_the_newest_is_taken_by_every_model_since_adaptive_thinking(name: str) -> None:
    traits = traits_of(name)
    if "adaptive" in traits.thinking:
        assert NEWEST.thinking <= traits.thinking
        assert NEWEST.efforts <= traits.efforts
        assert traits.structured


@given(st.frozensets(st.sampled_from(LEVELS)), st.sampled_from(LEVELS), st.booleans())
def test_an_effort_is_one_that_the_model_takes_and_never_above_the_one_wanted(
    taken: frozenset[ThinkingEffort], wanted: ThinkingEffort, thinks: bool
) -> None:
    sent = AnthropicTraits(efforts=taken).effort(wanted, thinks=thinks)
    assert sent is None or (sent in taken and LEVELS.index(sent) <= LEVELS.index(wanted))
    if sent is None:
        assert not any(level in taken for level in LEVELS[: LEVELS.index(wanted) + 1] if thinks or level not in ("xhigh", "max"))
