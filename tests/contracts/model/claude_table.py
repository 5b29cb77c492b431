"""The table of Claude's models in docs/models.md, generated from their traits: `python -m tests.contracts.model.claude_table`.

Models whose end Anthropic has announced are left out: nobody should choose them any more.
"""

from __future__ import annotations

from typing import get_args

from anthropic.resources.messages.messages import DEPRECATED_MODELS
from anthropic.types.model import Model

from hibernaut.domain.models.anthropic_models import LEVELS, AnthropicTraits, traits_of

HEADINGS = (
    "models",
    "thinking",
    "efforts",
    "with reasoning off",
    "forced tool choice",
    "temperature",
    "`json_schema`, strict tools",
)
NAMED: tuple[str, ...] = get_args(get_args(Model)[0])
"""The models that Anthropic's SDK names, the newest first."""


def row(names: list[str], traits: AnthropicTraits) -> tuple[str, ...]:
    adaptive = "adaptive" in traits.thinking
    if "disabled" in traits.thinking:
        off = "does not think"
    else:
        off = "notes between calls alone" if "between_tools" in traits.thinking else "thinks with effort `low`"
    return (
        ", ".join(f"`{name}`" for name in names),
        ("adaptive" if adaptive else "with a budget") + (", bound" if traits.bound else ""),
        ", ".join(f"`{level}`" for level in LEVELS if level in traits.efforts) or "none",
        off,
        "with reasoning off" if traits.forced else "no",
        "with reasoning off" if traits.sampling else "no",
        "yes" if traits.structured else "no",
    )


def table() -> str:
    """The whole table in Markdown. Models of one kind share a row."""
    groups: dict[AnthropicTraits, list[str]] = {}
    for name in NAMED:
        if name not in DEPRECATED_MODELS and not name[-8:].isdigit():  # a dated name is another name of the same model
            groups.setdefault(traits_of(name), []).append(name)
    rows = [HEADINGS, tuple("---" for _ in HEADINGS), *(row(names, traits) for traits, names in groups.items())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


if __name__ == "__main__":
    print(table())
