"""Anthropic's Messages API as a server of the kit: blocks in order, thinking sealed with what it is bound to, usage with cached
tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.contracts.model.kit.anthropic_binding import sealed, without_markers
from tests.contracts.model.kit.anthropic_models import MODELS
from tests.contracts.model.kit.anthropic_rules import RULES, refusal
from tests.contracts.model.kit.plays import ModelSpeech, Speak, Think, ToolUse
from tests.contracts.model.kit.rules import ErrorResponse
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.provider_http import Recorded, Wire
from tests.support.provider_servers import ScriptedAnthropic

BYTES_PER_TOKEN = 4
TOO_LONG = "prompt is too long: 214131 tokens > 200000 maximum"


class AnthropicServer(KitServer, ScriptedAnthropic):
    """The wire. All models of `MODELS` are listed and served."""

    @property
    def chat_models(self) -> list[str]:
        return list(MODELS)

    @property
    def stops_thinking(self) -> bool:  # type: ignore[override]
        return "disabled" in MODELS[self.provider.model].types

    def listing(self) -> Wire:
        self.models = [claude.listed(name) for name, claude in MODELS.items()]
        return super().listing()

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        thinks = (asked.body.get("thinking") or {}).get("type") or MODELS[asked.body["model"]].default
        shown = (asked.body.get("thinking") or {}).get("display", "summarized" if thinks == "enabled" else "omitted") != "omitted"
        blocks: list[Wire] = []
        for part in play.parts:
            match part:
                case Think(sealed=True) if thinks in ("adaptive", "enabled"):
                    blocks.append({"type": "redacted_thinking", "data": ""})
                case Think(text) if thinks in ("adaptive", "enabled"):
                    blocks.append({"type": "thinking", "thinking": text if shown else "", "signature": ""})
                case Speak(text):
                    blocks.append({"type": "text", "text": text})
                case ToolUse(name, arguments):
                    blocks.append({"type": "tool_use", "id": self.new_id("toolu_"), "name": name, "input": dict(arguments)})
        return sealed(asked, blocks, self.memory)

    def ending(self, play: ModelSpeech, items: Sequence[Wire]) -> Wire:
        if play.refused:
            return {"finish_reason": "refusal"}
        return {"finish_reason": "tool_use" if any(item["type"] == "tool_use" for item in items) else "end_turn"}

    def used(self, whole: int, cached: int, play: ModelSpeech) -> Wire:
        del play
        fresh = (whole - cached) // BYTES_PER_TOKEN
        return {
            "input_tokens": 3,
            "cache_read_input_tokens": cached // BYTES_PER_TOKEN,
            "cache_creation_input_tokens": fresh,
            "output_tokens": 20,
        }

    def prompt(self, asked: Recorded) -> bytes:
        """Tools, then system, then messages (platform.claude.com/docs/en/build-with-claude/prompt-caching)."""
        body = without_markers(asked.body)
        return json.dumps([body.get("tools"), body.get("system"), body["messages"]]).encode()

    def fault(self, kind: str) -> ErrorResponse:
        match kind:
            case "too_long":
                return refusal(TOO_LONG)
            case "rate_limit":
                said = refusal("This request would exceed your organization's rate limit.", 429, "rate_limit_error")
                return ErrorResponse(said.status, said.body, {"retry-after": "7"})
            case "wrong_key":
                return refusal("invalid x-api-key", 401, "authentication_error")
            case "no_credit":
                return refusal("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.")
            case "image":  # anthropics/claude-code#56016
                return refusal("Could not process image")
            case "gone":
                return refusal(f"model: {self.provider.model}", 404, "not_found_error")
            case _:
                return refusal("Overloaded", 529, "overloaded_error")

    def _blocks(self, say: Wire) -> list[Wire]:
        return list(say["items"])

    def _frame(self) -> Wire:
        return super()._frame() | {"model": self.requests[-1].body["model"]}


def _variables(address: str) -> Mapping[str, str]:
    return {"ANTHROPIC_API_KEY": "sk-ant-kit", "ANTHROPIC_BASE_URL": address}


def _provider(model: str, **fields: Any) -> Provider:
    return Provider(f"anthropic-{model}", f"anthropic/{model}", AnthropicServer, RULES, _variables, **fields)


PROVIDERS = (
    _provider("claude-opus-5-5"),
    _provider("claude-sonnet-5"),
    _provider("claude-haiku-4-5"),
)
