"""Which model of a provider an agent gets that is created without one. A data table and one rule."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.schemas.llm_config import ModelDescription

PREFERRED = {
    "openai": ("gpt-5.4-mini", "gpt-5.4", "gpt-5.2"),
    "anthropic": ("claude-sonnet-4-6", "claude-haiku-4-5"),
}
"""By wire format, the first choice first. Each serves every agent type by the calls that the adapters make: OpenAI's take function tools
on Chat Completions with the effort that is sent, Anthropic's take a forced tool choice; newer ones refuse one or the other."""


def default_model(kind: str, listed: Sequence[ModelDescription], *, official: bool) -> str | None:
    """The name of the model. `listed` is the provider's list by name, empty while it cannot be had.

    Where none of the preferred models is listed, as on a compatible server, it is the first of the list. `official`: the provider's own address,
    whose preferred model is taken at its word while there is no list. None: nothing is known.
    """
    names = [row.model for row in listed]
    for name in PREFERRED[kind]:
        if name in names or (official and not names):
            return name
    return names[0] if names else None
