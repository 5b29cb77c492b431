"""The parameters that each of Anthropic's models accepts: a table, for models that a provider's list does not describe.

Sources: vendor's pages "What's new" and "Migration guide" of each model, "Effort" and "Preserved thinking" (platform.claude.com),
read in November 2026; `ModelParam`, `ThinkingTypes`, `EffortCapability` of anthropic 2.12.0. Knows no wire format.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal

from hibernaut.schemas.immutable import immutable

ThinkingType = Literal["adaptive", "enabled", "disabled", "between_tools"]
ThinkingEffort = Literal["low", "medium", "high", "xhigh", "max"]

LEVELS: tuple[ThinkingEffort, ...] = ("low", "medium", "high", "xhigh", "max")
_WITHOUT_THINKING: tuple[ThinkingEffort, ...] = ("low", "medium", "high")
"""The efforts that models take with thinking off: `xhigh` and `max` are refused there (Opus 5 and later)."""


@immutable
class AnthropicTraits:
    """The parameters that a model accepts.

    `thinking`: the accepted values of `thinking.type`; empty: the parameter is not sent. `structured`: schemas for replies, and
    strict tools. `sampling`: a temperature other than the default. `forced`: a forced tool choice while it does not think.
    `bound`: its thinking is valid only behind the unchanged system message, tools and messages. `interleaved`: it thinks between
    tool calls only if a header asks for it. `usual_effort`: the effort of an agent that names none; None: the provider's.
    `usual_output`: tokens that an agent writes at most unless it asks for more. `max_tokens`: the model's own limit of these;
    None: unknown.
    """

    thinking: frozenset[ThinkingType] = frozenset()
    efforts: frozenset[ThinkingEffort] = frozenset()
    structured: bool = False
    sampling: bool = True
    forced: bool = True
    bound: bool = False
    interleaved: bool = False
    usual_effort: ThinkingEffort | None = None
    usual_output: int = 8192
    max_tokens: int | None = None

    @property
    def reasons(self) -> bool:
        """Whether thinking can be enabled for the model."""
        return not self.thinking.isdisjoint(("adaptive", "enabled"))

    def effort(self, requested: ThinkingEffort | None, *, thinks: bool) -> ThinkingEffort | None:
        """The highest accepted effort that is not above the requested one; None: none is sent."""
        if requested is None:
            return None
        accepted = self.efforts if thinks else self.efforts.intersection(_WITHOUT_THINKING)
        levels = [level for level in LEVELS[: LEVELS.index(requested) + 1] if level in accepted]
        return levels[-1] if levels else None


PLAIN = AnthropicTraits()
"""Models of other makers on compatible servers, and Claude before 3.7."""
_BUDGET = AnthropicTraits(frozenset({"enabled", "disabled"}), interleaved=True, usual_output=16_384)
_FOUR_FIVE = replace(_BUDGET, structured=True)
_FOUR_SIX = AnthropicTraits(
    frozenset({"adaptive", "enabled", "disabled"}),
    frozenset({"low", "medium", "high", "max"}),
    structured=True,
    usual_effort="medium",
    usual_output=21_000,
)
_FOUR_SEVEN = replace(
    _FOUR_SIX, thinking=frozenset({"adaptive", "disabled"}), efforts=frozenset(LEVELS), sampling=False, usual_effort=None
)
_FIVE_FIVE = replace(_FOUR_SEVEN, thinking=frozenset({"adaptive"}), forced=False, bound=True)
NEWEST = replace(_FIVE_FIVE, efforts=frozenset({"low", "medium", "high"}))
"""A Claude of which nothing is known: what every model since Opus 4.6 takes, and nothing that any of them refuses."""
_ALWAYS_THINKS = replace(_FOUR_SEVEN, thinking=frozenset({"adaptive"}), forced=False)

_TABLE: dict[str, AnthropicTraits] = {
    "claude": NEWEST,
    "claude-instant": PLAIN,
    "claude-2": PLAIN,
    "claude-3": PLAIN,
    "claude-3-7": replace(_BUDGET, interleaved=False),
    "claude-opus-4": _BUDGET,
    "claude-sonnet-4": _BUDGET,
    "claude-haiku-4-5": replace(_FOUR_FIVE, usual_output=8192),
    "claude-sonnet-4-5": _FOUR_FIVE,
    "claude-opus-4-5": replace(_FOUR_FIVE, efforts=frozenset({"low", "medium", "high"}), usual_effort="medium"),
    "claude-sonnet-4-6": _FOUR_SIX,
    "claude-opus-4-6": _FOUR_SIX,
    "claude-mythos-preview": replace(_ALWAYS_THINKS, efforts=_FOUR_SIX.efforts),
    "claude-opus-4-7": _FOUR_SEVEN,
    "claude-opus-4-8": _FOUR_SEVEN,
    "claude-opus-5": _FOUR_SEVEN,
    "claude-sonnet-5": _FOUR_SEVEN,
    "claude-fable-5": _ALWAYS_THINKS,
    "claude-mythos-5": _ALWAYS_THINKS,
    "claude-fable-5-1": _FIVE_FIVE,
    "claude-mythos-5-1": _FIVE_FIVE,
    "claude-fable-5-2": _FIVE_FIVE,
    "claude-mythos-5-2": _FIVE_FIVE,
    "claude-opus-5-5": _FIVE_FIVE,
    "claude-sonnet-5-5": replace(_FIVE_FIVE, thinking=frozenset({"adaptive", "between_tools"})),
    "claude-haiku-5-5": replace(_FIVE_FIVE, thinking=frozenset({"adaptive", "disabled"})),
}


@lru_cache(maxsize=1000)
def _row(model: str) -> str | None:
    """The longest name of the table that is part of the model's, as in `us.anthropic.claude-opus-4-6-v1:0`,
    `anthropic/claude-opus-4.6`.
    """
    name = model.lower().replace(".", "-")
    names = [row for row in _TABLE if (start := name.find(row)) >= 0 and not name[start + len(row) :][:1].isdigit()]
    return max(names, key=len, default=None)


def traits_of(model: str) -> AnthropicTraits:
    """The traits of a model by its name, with or without an organisation, a region or a date."""
    return _TABLE[row] if (row := _row(model)) else PLAIN


def is_listed(model: str) -> bool:
    """Whether the table has a row for this very model, not only for an unknown Claude."""
    return _row(model) not in (None, "claude")
