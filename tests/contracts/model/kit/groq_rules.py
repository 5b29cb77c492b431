"""What Groq refuses, in its own words, each rule with its source."""

from __future__ import annotations

from tests.contracts.model.kit.chat_rules import assistants
from tests.contracts.model.kit.chat_server import refusal
from tests.contracts.model.kit.rules import ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.server import at
from tests.support.provider_http import Recorded

_GROQ_BODY = frozenset(
    [
        "messages",
        "model",
        "citation_options",
        "compound_custom",
        "disable_tool_validation",
        "documents",
        "exclude_domains",
        "frequency_penalty",
        "function_call",
        "functions",
        "include_domains",
        "include_reasoning",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "n",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "reasoning_format",
        "response_format",
        "search_settings",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
    ]
)


def groq_knows_all_members(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    unknown = sorted(asked.body.keys() - _GROQ_BODY)
    return refusal(f"property '{unknown[0]}' is unsupported") if unknown else None


def groq_efforts_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    effort, model = asked.body.get("reasoning_effort"), asked.body["model"]
    if effort is None or ("gpt-oss" in model and effort in ("low", "medium", "high")):
        return None
    if "qwen3" in model:
        return None if effort in ("none", "default") else refusal("`reasoning_effort` must be one of `none` or `default`")
    return refusal("`reasoning_effort` is not supported with this model")


def groq_has_a_format_or_tools(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    kind = at(asked.body, "response_format", "type")
    both = kind in ("json_object", "json_schema") and asked.body.get("tools")
    return refusal(f"'response_format' `{kind}` cannot be combined with tool/function calling") if both else None


def groq_knows_no_reasoning_content(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for number, message in assistants(asked):
        for name in ("reasoning_content", "reasoning_details", "extra_content"):
            if name in message:
                text = f"'messages.{number}' : for 'role:assistant' the following must be satisfied"
                return refusal(f"{text}[('messages.{number}' : property '{name}' is unsupported)]")
    return None


GROQ_RULES = (
    Rule("groq_knows_all_members", "console.groq.com/docs/api-reference#chat-create; janhq/jan#8136 (the words)", groq_knows_all_members),
    Rule("groq_efforts_of_the_model", "earendil-works/pi#1745, #3764; iamsrikanthnani/pluely#242", groq_efforts_of_the_model),
    Rule("groq_has_a_format_or_tools", "agno-agi/agno#1065; vercel/ai#16540", groq_has_a_format_or_tools),
    Rule("groq_knows_no_reasoning_content", "janhq/jan#8136; tashfeenahmed/freellmapi#1070; NousResearch/hermes-agent#11089",
         groq_knows_no_reasoning_content),
)  # fmt: skip
