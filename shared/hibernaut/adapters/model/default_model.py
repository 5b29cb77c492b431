"""The default model of a provider for agents that are created without one. A data table and one rule."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.adapters.model.bedrock import NAME as BEDROCK
from hibernaut.schemas.llm_config import ModelDescription

PREFERRED = {
    "openai": ("gpt-5.4-mini", "gpt-5.4", "gpt-5.2"),
    "anthropic": ("claude-sonnet-4-6", "claude-haiku-4-5"),
    "bedrock": ("anthropic.claude-haiku-5-5", "anthropic.claude-sonnet-4-6"),
}
"""Preferred models by provider, best first. Each of them serves every agent type with the calls that the adapters make:
OpenAI's accept function tools on Chat Completions with our reasoning effort, Anthropic's accept a forced tool choice. Newer
models refuse one or the other. Bedrock's are named without the region of an inference profile (`global.`, `eu.`); the first one is
the cheapest of its generation (`price_list.json`) and refuses a forced choice.
"""


def default_model(kind: str, listed: Sequence[ModelDescription], *, official: bool) -> str | None:
    """The name of the default model. `listed` is the provider's list by name, empty if it is unavailable.

    If no preferred model is listed, as on a compatible server, the first listed model is the default. `official`: the address is
    the provider's own, whose preferred model is assumed to exist while there is no list. None: unknown.
    """
    names = [row.model for row in listed]
    for name in PREFERRED.get(kind, ()):
        if kind == BEDROCK:
            if found := next((each for each in names if each == name or each.endswith(f".{name}")), None):
                return found
        elif name in names or (official and not names):
            return name
    return names[0] if names else None
