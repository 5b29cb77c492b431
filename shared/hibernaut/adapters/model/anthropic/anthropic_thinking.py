"""Chooses the `thinking` parameter of a request, and what of a model's earlier thinking goes back with it. Pure."""

from __future__ import annotations

from hibernaut.domain.models.anthropic_models import AnthropicTraits, ThinkingEffort
from hibernaut.domain.models.model_settings import SMALLEST_BUDGET
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import LLMConfig

ROOM = 4096
"""Tokens that a reply has beside its thinking, at least."""
DROP: JsonObject = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
"""The API drops thinking after a changed prefix instead of refusing it (`BetaThinkingBlockBindingParam`, "Preserved
thinking").
"""


@immutable
class Thinking:
    """`parameter`: the value of `thinking`, None: omitted. `thinks`: the model thinks before its reply. `replays`: its earlier
    thinking is sent back. `effort`: the value of `output_config.effort`.
    """

    parameter: JsonObject | None
    thinks: bool
    replays: bool
    effort: ThinkingEffort | None

    @property
    def budget(self) -> int:
        """Tokens of thinking that are part of `max_tokens`, where the request names them."""
        budget: int = (self.parameter or {}).get("budget_tokens", 0)
        return budget


def thinking_of(config: LLMConfig, traits: AnthropicTraits, *, takes_betas: bool, loop_is_own: bool) -> Thinking:
    """The thinking of one request.

    `takes_betas`: the server takes the beta that drops such thinking. Elsewhere, thinking that is bound to its prefix is never
    sent back, because there a changed prefix is an error for ever after. `loop_is_own`: see `anthropic_turns`.
    """
    drops = DROP if traits.bound and takes_betas else {}
    replays = takes_betas or not traits.bound
    if not traits.thinking:
        return Thinking(None, thinks=False, replays=True, effort=traits.effort(config.effort, thinks=False))
    if config.enable_reasoner:
        effort = traits.effort(config.effort, thinks=True)
        if "adaptive" in traits.thinking:
            return Thinking({"type": "adaptive", "display": "summarized"} | drops, thinks=True, replays=replays, effort=effort)
        if "enabled" in traits.thinking and loop_is_own:
            return Thinking({"type": "enabled", "budget_tokens": _budget(config, traits)} | drops, True, replays, effort)
    effort = traits.effort(config.effort, thinks=False)
    match traits.thinking:
        case kinds if {"adaptive", "disabled"} <= kinds:
            return Thinking({"type": "disabled"}, thinks=False, replays=False, effort=effort)
        case kinds if "between_tools" in kinds:
            return Thinking({"type": "between_tools"}, thinks=False, replays=False, effort=effort)
        case kinds if "adaptive" in kinds:  # cannot be switched off
            least = traits.effort(config.effort or "low", thinks=True)
            return Thinking({"type": "adaptive", "display": "omitted"} | drops, thinks=True, replays=replays, effort=least)
        case _:
            return Thinking(None, thinks=False, replays=False, effort=effort)


def _budget(config: LLMConfig, traits: AnthropicTraits) -> int:
    budget = max(config.max_reasoning_tokens, SMALLEST_BUDGET)
    return budget if traits.max_tokens is None else max(min(budget, traits.max_tokens - ROOM), SMALLEST_BUDGET)
