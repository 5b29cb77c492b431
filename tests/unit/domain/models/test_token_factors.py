"""Which tokenizer a model has, by its name, and which kind a text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.models.token_factors import (
    CLAUDE_FROM_47,
    CLAUDE_TO_46,
    DEEPSEEK,
    LIKE_O200K,
    LLAMA_3,
    factors_of,
    kind_of,
)


@pytest.mark.parametrize(
    ("factors", "models"),
    [
        (CLAUDE_TO_46, ["claude-3-5-sonnet-20241022", "claude-3-opus-20240229", "claude-sonnet-4-20250514", "claude-opus-4-6"]),
        (CLAUDE_TO_46, ["claude-haiku-4.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic/claude-sonnet-4"]),
        (CLAUDE_FROM_47, ["claude-opus-4-7", "claude-4-8-opus", "claude-fable-5-2", "claude-opus-5", "claude-opus-latest"]),
        (LLAMA_3, ["meta-llama/Llama-3.3-70B-Instruct", "llama3.1:8b", "llama-v3p1-8b", "deepseek-r1-distill-llama3-8b"]),
        (DEEPSEEK, ["deepseek-v4-pro", "deepseek-ai/DeepSeek-V3.2"]),
        (
            LIKE_O200K,
            ["gpt-6.1-sol", "llama-4-scout", "llama-2-7b", "qwen3:32b", "deepseek-r1-distill-qwen-7b", "gemini-3-pro", ""],
        ),
    ],
)
def test_a_models_name_tells_its_tokenizer(factors: object, models: list[str]) -> None:
    assert [factors_of(model) for model in models] == [factors] * len(models)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("prose", "The boats came in early that morning, and nobody had expected them; so the market opened late."),
        (
            "prose",
            "\u201cIt\u2019s a fine day,\u201d she said \u2014 and left for the harbour, which she liked more than anything.",
        ),
        ("prose", ""),
        ("code", "def f(x, y):\n    for i in range(x[0]):\n        y[i] += g(i) * 2\n    return {k: v for k, v in y.items()}"),
        ("json", '{"name": "ring", "parameters": {"type": "object", "properties": {"bell": {"type": "string"}}}}'),
        ("accented", "Der Müller hat heute früh die größte Mühle der Stadt verkauft, weil er in den Süden ziehen wollte."),
        ("accented", "Le garçon a été très étonné de voir cette fenêtre ouverte au milieu de la nuit."),
        ("foreign", "आज मौसम बहुत अच्छा है और हम बंदरगाह तक चलेंगे।"),
        ("foreign", "今天天气很好，我们去公园吧。"),
        ("foreign", "Сегодня хорошая погода, и мы пойдём в гавань."),
    ],
)
def test_a_texts_characters_tell_its_kind(kind: str, text: str) -> None:
    assert kind_of(text) == kind


@given(st.text(st.characters(), max_size=200))
def test_any_text_has_a_kind_that_every_family_knows(text: str) -> None:
    kind = kind_of(text)
    assert all(0.9 < factors[kind] < 2.5 for factors in (CLAUDE_TO_46, CLAUDE_FROM_47, LLAMA_3, DEEPSEEK, LIKE_O200K))
