"""The limits of models whose provider reports none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.prices.context_windows import UNKNOWN_WINDOW, ContextWindows, Limits, bare_name

WINDOWS = ContextWindows()


@pytest.mark.parametrize(
    ("model", "window", "output"),
    [
        ("gpt-4o-mini", 128_000, 16_384),
        ("gpt-4.1-nano-2025-04-14", 1_000_000, 32_768),
        ("gpt-5-chat-latest", 128_000, 16_384),
        ("gpt-5.5-2026-04-23", 1_000_000, 128_000),
        ("gpt-6.1-sol", 1_050_000, None),
        ("o4-mini-2025-04-16", 200_000, 100_000),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 64_000),
        ("claude-opus-5-5", 1_000_000, 8_192),
        ("models/gemini-2.5-flash", 1_048_576, None),
        ("deepseek-v4-pro", 1_000_000, None),
        ("moonshotai/kimi-k2.6", 262_144, None),
        ("meta-llama/Llama-3.3-70B-Instruct", 131_072, None),
        ("llama3.1:8b", 131_072, None),
        ("qwen3:32b", 40_960, None),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144, None),
        ("grok-4-fast", 2_000_000, None),
        ("my-own-finetune", UNKNOWN_WINDOW, None),
        ("", UNKNOWN_WINDOW, None),
    ],
)
def test_the_longest_known_beginning_of_a_name_gives_its_limits(model: str, window: int, output: int | None) -> None:
    assert WINDOWS.of(model) == Limits(window, output)


@given(st.text(max_size=60))
def test_any_name_has_a_window_and_a_bare_name_is_bare(name: str) -> None:
    assert WINDOWS.of(name).window > 0
    assert WINDOWS.of(bare_name(name)) == WINDOWS.of(name)
