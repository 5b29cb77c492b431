"""The default model of a provider for agents that are created without one. A data table and one rule."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hibernaut.adapters.model.bedrock_endpoints import NAME as BEDROCK
from hibernaut.schemas.models.llm_config import ModelDescription

PREFERRED = {
    "openai": ("gpt-6.1-terra", "gpt-5.6-terra", "gpt-5.4-mini", "gpt-5.4"),
    "anthropic": ("claude-sonnet-5", "claude-sonnet-5-5", "claude-sonnet-4-6"),
    "google_ai": ("gemini-3.8-flash", "gemini-3.5-flash"),
    "google_vertex": ("gemini-3.8-flash", "gemini-3.5-flash"),
    "bedrock": ("anthropic.claude-haiku-5-5", "anthropic.claude-sonnet-4-6"),
    "groq": ("openai/gpt-oss-120b", "openai/gpt-oss-20b"),
    "together": ("openai/gpt-oss-120b", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    "xai": ("grok-4.3", "grok-4.5"),
    "deepseek": ("deepseek-v4-flash", "deepseek-flash", "deepseek-v4-pro"),
    "mistral": ("mistral-medium-latest", "mistral-large-latest"),
    "openrouter": ("anthropic/claude-sonnet-5", "openai/gpt-5.6-terra"),
    "moonshot": ("kimi-k3", "kimi-k2.7-code"),
    "zai": ("glm-5.3", "glm-5.2"),
    "minimax": ("MiniMax-M3", "MiniMax-M2.7"),
}
"""Preferred models by provider, best first: the newest of each provider's middle tier of which no shutdown is announced.

A model precedes a newer one that takes less. OpenAI's take effort `none`, so that they serve tools on Responses and on Chat
Completions; GPT-6 Astra and 6.1 Sol do not. `claude-sonnet-5` can stop thinking and then accepts a forced tool choice, which
agents of V1's older types need; from 5.5 on no model accepts one. Bedrock's are named without the region of an inference profile
(`global.`, `eu.`); the first one is the cheapest of its generation (`price_list.json`). Sources:
openai/types/shared/chat_model.py (3.54), anthropic/types/model_param.py (2.12), ai.google.dev/gemini-api/docs/deprecations; the
options are those of `responses_models` and `anthropic_models`; from Groq on, the names of `price_list.json` (2026-11-10). A
server of one's own, and Azure, whose deployments have any name, have no preferred model.
"""
SMALLEST_WINDOW = 16_000
"""Tokens that the model needs which becomes the default without being preferred: the prompt and the tools of an agent take some
thousand.
"""
_OF_OTHER_USE = re.compile(r"(?:^|[/_.:-])(?:guard|safeguard|moderation|speech|voice|ocr|vision|base|coder?)(?:[_.:-]|$)")
"""Words in the names of models that talk, and are made for something else."""


def default_model(kind: str, listed: Sequence[ModelDescription], *, official: bool) -> str | None:
    """The name of the default model. `listed` is the provider's list by name, empty if it is unavailable.

    If no preferred model is listed, as on a compatible server, the first listed model is the default that has a window of
    `SMALLEST_WINDOW` and is made for conversations; if there is none, the first listed one. `official`: the address is the
    provider's own; without a list, its preferred model is assumed to exist. None: unknown.
    """
    names = [row.model for row in listed]
    for name in PREFERRED.get(kind, ()):
        if kind == BEDROCK:
            if found := next((each for each in names if each == name or each.endswith(f".{name}")), None):
                return found
        elif name in names or (official and not names):
            return name
    fitting = (
        row.model for row in listed if row.context_window >= SMALLEST_WINDOW and not _OF_OTHER_USE.search(row.model.lower())
    )
    return next(fitting, names[0] if names else None)
