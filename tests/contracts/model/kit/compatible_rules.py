"""What the compatible servers refuse, in their own words, each rule with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tests.contracts.model.kit.chat_rules import issued_with, tool_turns
from tests.contracts.model.kit.chat_server import refusal
from tests.contracts.model.kit.rules import ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.server import at
from tests.support.provider_http import Recorded, Wire

# DeepSeek and Kimi


def _thinks(asked: Recorded) -> bool:
    """Thinking is on unless the request switches it off (api-docs.deepseek.com/guides/thinking_mode, platform.moonshot.ai)."""
    return at(asked.body, "thinking", "type") != "disabled"


def _without_thoughts(asked: Recorded, memory: ServerMemory) -> int | None:
    """The number of the first assistant message with calls whose thoughts are missing, empty, or not those that were issued."""
    for number, message in tool_turns(asked):
        issued = issued_with(message["tool_calls"][0]["id"], memory)
        thoughts = message.get("reasoning_content")
        own = (issued or {}).get("reasoning_content")  # none before a call that was made while the model did not reason
        if not isinstance(thoughts, str) or not thoughts or (own and thoughts != own):
            return number
    return None


def deepseek_thoughts_come_back(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    if not _thinks(asked) or _without_thoughts(asked, memory) is None:
        return None
    return refusal("The `reasoning_content` in the thinking mode must be passed back to the API.", code="invalid_request_error")


def kimi_thoughts_come_back(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    if not _thinks(asked) or (number := _without_thoughts(asked, memory)) is None:
        return None
    return refusal(f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {number}")


def _forces_while_it_thinks(asked: Recorded) -> bool:
    return _thinks(asked) and asked.body.get("tool_choice") not in (None, "auto", "none")


def deepseek_forces_no_tool(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if not _forces_while_it_thinks(asked):
        return None
    return refusal("Thinking mode does not support this tool_choice", code="invalid_request_error")


def kimi_forces_no_tool(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    choice = asked.body.get("tool_choice")
    if not _forces_while_it_thinks(asked):
        return None
    kind = "specified" if isinstance(choice, dict) else choice
    return refusal(f"tool_choice '{kind}' is incompatible with thinking enabled")


def kimi_temperature_is_fixed(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    allowed = 1 if _thinks(asked) else 0.6
    sent = asked.body.get("temperature")
    return None if sent in (None, allowed) else refusal(f"invalid temperature: only {allowed} is allowed for this model")


# Mistral

_BODY = frozenset(
    [
        "model",
        "temperature",
        "top_p",
        "max_tokens",
        "stream",
        "stop",
        "random_seed",
        "metadata",
        "messages",
        "response_format",
        "tools",
        "tool_choice",
        "presence_penalty",
        "frequency_penalty",
        "n",
        "prediction",
        "parallel_tool_calls",
        "prompt_mode",
        "safe_prompt",
        "reasoning_effort",
        "prompt_cache_key",
        "guardrails",
    ]
)
_MESSAGES = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", "prefix"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_FUNCTION = frozenset({"name", "description", "strict", "parameters"})
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_MAY_FOLLOW = {"tool": {"tool", "assistant"}, "assistant": {"user", "tool", "assistant", "system"}}


def _mistral(message: object, kind: str, code: str | None, status: int = 400) -> ErrorResponse:
    return ErrorResponse(status, {"object": "error", "message": message, "type": kind, "param": None, "code": code})


def _extra(asked: Recorded) -> Iterator[list[str | int]]:
    yield from (["body", name] for name in asked.body if name not in _BODY)
    for number, message in enumerate(asked.body["messages"]):
        known = _MESSAGES.get(message["role"])
        if known is None:
            yield ["body", "messages", number, "role"]
            continue
        yield from (["body", "messages", number, message["role"], name] for name in message if name not in known)
    for number, tool in enumerate(asked.body.get("tools") or ()):
        yield from (["body", "tools", number, "function", name] for name in tool["function"] if name not in _FUNCTION)


def mistral_knows_all_members(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    detail = [
        {"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": None} for loc in _extra(asked)
    ]
    return _mistral({"detail": detail}, "invalid_request_error", None, 422) if detail else None


def mistral_call_ids(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    ids = [call["id"] for _at, message in tool_turns(asked) for call in message["tool_calls"]]
    bad = [each for each in ids if not _NINE.fullmatch(each)]
    text = f"Tool call id was {bad[0]} but must be a-z, A-Z, 0-9, with a length of 9." if bad else ""
    return _mistral(text, "invalid_function_call", "3280") if bad else None


def mistral_order_of_roles(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    roles = [message["role"] for message in asked.body["messages"]]
    for before, role in pairwise(roles):
        if role not in _MAY_FOLLOW.get(before, {"user", "assistant", "system"}):
            return _mistral(f"Unexpected role '{role}' after role '{before}'", "invalid_request_message_order", "3230")
    if roles[-1] == "assistant":
        text = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        return _mistral(text, "invalid_request_message_order", "3240")
    return None


_ADJUSTABLE = re.compile(r"mistral-small-(?:latest|2603)|mistral-medium-3[-.]5|mistral-medium-2604")


def mistral_efforts_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    effort = asked.body.get("reasoning_effort")
    if effort is None:
        return None
    if _ADJUSTABLE.match(asked.body["model"]) is None:
        return _mistral("reasoning_effort is not enabled for this model", "invalid_request_error", "3051", 422)
    text = f"reasoning_effort='{effort}' is not supported for this model. Must be one of ('none', 'high')"
    return None if effort in ("none", "high") else _mistral(text, "invalid_request_error", "3051")


# Gemini at its OpenAI address

DUMMY_SIGNATURES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def gemini_signatures_come_back(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """The first call of each step of the current turn, that is after the last message of the user, carries the signature as
    issued.
    """
    messages = asked.body["messages"]
    begin = max((number for number, message in enumerate(messages) if message["role"] == "user"), default=0)
    for number, message in tool_turns(asked):
        call = message["tool_calls"][0]
        signature = at(call, "extra_content", "google", "thought_signature")
        issued = issued_with(call["id"], memory)
        wanted = at(issued, "tool_calls", 0, "extra_content", "google", "thought_signature")
        if number < begin or signature in DUMMY_SIGNATURES or (signature and signature == wanted):
            continue
        text = (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing "
            f"thought_signature may lead to degraded model performance. Additional data, function call `default_api:{call['function']['name']}` "
            f", position {number + 1}."
        )
        return ErrorResponse(400, [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}])
    return None


# OpenRouter


def openrouter_details_come_back(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """Gemini behind OpenRouter: its signature travels in `reasoning_details`."""
    begin = max((number for number, message in enumerate(asked.body["messages"]) if message["role"] == "user"), default=0)
    for number, message in tool_turns(asked):
        issued: Wire = issued_with(message["tool_calls"][0]["id"], memory) or {}
        if (
            number >= begin
            and issued.get("reasoning_details")
            and message.get("reasoning_details") != issued["reasoning_details"]
        ):
            raw = '{"error": {"code": 400, "message": "Function call is missing a thought_signature in functionCall parts."}}'
            told = {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": raw, "provider_name": "Google AI Studio"},
            }
            return ErrorResponse(400, {"error": told, "user_id": "user_1"})
    return None


# xAI

_TAKES_EFFORT = re.compile(r"grok-(?:3-mini|4\.3|4\.5|4\.6|4\.20-multi-agent)")
"""NousResearch/hermes-agent#23435, measured on 2026-05-10; earendil-works/pi#8381 for 4.5 and 4.6."""


def _xai(asked: Recorded, name: str) -> ErrorResponse:
    text = f"Model {asked.body['model']} does not support parameter {name}."
    return ErrorResponse(400, {"code": "Client specified an invalid argument", "error": text})


def xai_effort_of_some_models(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    taken = "reasoning_effort" not in asked.body or _TAKES_EFFORT.match(asked.body["model"])
    return None if taken else _xai(asked, "reasoningEffort")


def xai_takes_no_penalties(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    names = {"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty", "stop": "stop"}
    return next((_xai(asked, told) for name, told in names.items() if name in asked.body), None)


# Z.ai


def _zai(code: str, text: str) -> ErrorResponse:
    return ErrorResponse(400, {"error": {"code": code, "message": text}})


def zai_choice_is_auto(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    taken = asked.body.get("tool_choice", "auto") == "auto"
    return None if taken else _zai("1210", "Invalid API parameter, please check the documentation.")


def zai_wants_a_user(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if any(message["role"] == "user" for message in asked.body["messages"]):
        return None
    return _zai("1214", "The messages parameter is illegal. Please check the documentation.")


# MiniMax


def _minimax(text: str) -> ErrorResponse:
    return refusal(f"invalid params, {text} (2013)", code=None)


def system_places(asked: Recorded) -> list[int]:
    """Where system messages stand."""
    return [number for number, message in enumerate(asked.body["messages"]) if message["role"] in ("system", "developer")]


def minimax_one_system_message(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    return None if system_places(asked) in ([], [0]) else _minimax("invalid chat setting")


def minimax_thinking_types(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    kind = at(asked.body, "thinking", "type")
    taken = kind in (None, "adaptive", "disabled")
    return None if taken else _minimax(f'invalid thinking.type: "{kind}" (allowed: adaptive, disabled)')


# Qwen3.5 to 3.8, by their chat template


def qwen_system_stands_first(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if system_places(asked) in ([], [0]):
        return None
    return refusal("Chat template error: System message must be at the beginning.")


# Ollama


def ollama_effort_of_thinking_models(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    effort, model = asked.body.get("reasoning_effort"), asked.body["model"]
    if effort in (None, "none") or "qwen3" in model or "gpt-oss" in model:
        return None
    return refusal(f'"{model}" does not support thinking')


OLLAMA_RULES = (
    Rule("ollama_effort_of_thinking_models", "Gitlawb/openclaude#1371; ollama/ollama#14820",
         ollama_effort_of_thinking_models),
)  # fmt: skip
XAI_RULES = (
    Rule("xai_effort_of_some_models", "NousResearch/hermes-agent#23435; earendil-works/pi#8381; chenyme/grok2api#814 (the form)",
         xai_effort_of_some_models),
    Rule("xai_takes_no_penalties", "docs.x.ai/docs/models (reasoning models)", xai_takes_no_penalties),
)  # fmt: skip
ZAI_RULES = (
    Rule("zai_choice_is_auto", "docs.z.ai/api-reference/llm/chat-completion (tool_choice); cline/cline#9939 (1210)", zai_choice_is_auto),
    Rule("zai_wants_a_user", "anomalyco/opencode#2557; continuedev/continue#13259 (1214)", zai_wants_a_user),
)  # fmt: skip
MINIMAX_RULES = (
    Rule("minimax_one_system_message", "can1357/oh-my-pi#954; openclaw/openclaw#19386; MiniMax-AI/MiniMax-M2#27",
         minimax_one_system_message),
    Rule("minimax_thinking_types", "CherryHQ/cherry-studio#16431; HenriGrimm/Minnow#364", minimax_thinking_types),
)  # fmt: skip
QWEN_RULES = (
    Rule("qwen_system_stands_first", "vllm-project/vllm#41114; QwenLM/Qwen3.8#244; ggml-org/llama.cpp#27367; ollama/ollama#17774",
         qwen_system_stands_first),
)  # fmt: skip
DEEPSEEK_RULES = (
    Rule("deepseek_thoughts_come_back", "api-docs.deepseek.com/guides/thinking_mode; anomalyco/opencode#24722; NousResearch/hermes-agent#17341 (an empty text)",
         deepseek_thoughts_come_back),
    Rule("deepseek_forces_no_tool", "deepseek-ai/DeepSeek-V3#1376; BerriAI/litellm#37470; osaurus-ai/osaurus#1940", deepseek_forces_no_tool),
)  # fmt: skip
KIMI_RULES = (
    Rule("kimi_thoughts_come_back", "continuedev/continue#11711; anomalyco/opencode#16318; Lapis0x0/obsidian-yolo#243",
         kimi_thoughts_come_back),
    Rule("kimi_forces_no_tool", "can1357/oh-my-pi#827, #1077; bestruirui/octopus#251", kimi_forces_no_tool),
    Rule("kimi_temperature_is_fixed", "Warma10032/VideoAdGuard#34; MoonshotAI/kimi-code#686", kimi_temperature_is_fixed),
)  # fmt: skip
MISTRAL_RULES = (
    Rule("mistral_knows_all_members", "BerriAI/litellm#30835; editor-code-assistant/eca#231; docs.rs mistral-openapi-client ChatCompletionRequest",
         mistral_knows_all_members),
    Rule("mistral_efforts_of_the_model", "docs.mistral.ai/capabilities/reasoning/adjustable; architects-toolkit/SmartHopper#647 (the words); "
         "NousResearch/hermes-agent#11243 (422)", mistral_efforts_of_the_model),
    Rule("mistral_call_ids", "nearai/ironclaw#1241; anomalyco/opencode#1680", mistral_call_ids),
    Rule("mistral_order_of_roles", "avante-corp/avante.nvim#2695; onyx-dot-app/onyx#6458; BerriAI/litellm#17761", mistral_order_of_roles),
)  # fmt: skip
GEMINI_RULES = (
    Rule("gemini_signatures_come_back", "ai.google.dev/gemini-api/docs/thought-signatures; securo-finance/securo#884; theopenco/llmgateway#1267",
         gemini_signatures_come_back),
)  # fmt: skip
OPENROUTER_RULES = (
    Rule("openrouter_details_come_back", "openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks; RooCodeInc/Roo-Code#9506; OpenHands/software-agent-sdk#1500",
         openrouter_details_come_back),
)  # fmt: skip
