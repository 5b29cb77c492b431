"""What Anthropic's models take, by model: the facts that the rules of the Messages wire read.

Source: platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5, …/build-with-claude/thinking-troubleshooting ("Thinking
support, defaults, and rejected configurations by model"), …/build-with-claude/preserved-thinking/prefix-checks.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.provider_http import Wire


@dataclass(frozen=True)
class Claude:
    """A model: which types of thinking it takes, which one it has if none is asked for, whether a tool may be forced at all,
    whether it takes sampling parameters, and whether its thinking is bound to what stands before it.
    """

    types: tuple[str, ...]
    default: str
    forced: bool
    sampling: bool
    bound: bool

    def listed(self, name: str) -> Wire:
        """The row of the model list, as far as adapters read it (anthropic/types/model_info.py, model_capabilities.py)."""
        types = {each: {"supported": each in self.types} for each in ("adaptive", "between_tools", "disabled", "enabled")}
        efforts = {each: {"supported": True} for each in ("low", "medium", "high", "max", "xhigh")}
        capabilities = {
            "thinking": {"supported": True, "types": types},
            "effort": {"supported": "adaptive" in self.types} | efforts,
            "structured_outputs": {"supported": True},
            "image_input": {"supported": True},
        }
        row = {"id": name, "display_name": name, "max_input_tokens": 200_000, "max_tokens": 64_000, "lifecycle": "active"}
        return row | {"capabilities": capabilities}


MODELS = {
    "claude-opus-5-5": Claude(("adaptive",), "adaptive", forced=False, sampling=False, bound=True),
    "claude-fable-5-1": Claude(("adaptive",), "adaptive", forced=False, sampling=False, bound=True),
    "claude-sonnet-5": Claude(("adaptive", "disabled"), "adaptive", forced=True, sampling=False, bound=False),
    "claude-haiku-4-5": Claude(("enabled", "disabled"), "disabled", forced=True, sampling=True, bound=False),
}
OLD, NEW = "2023-06-01", "2026-10-21"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
