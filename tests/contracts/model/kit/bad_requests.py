"""For each rule a request that breaks it: a conversation with one tool turn that the provider takes, and what is changed in
it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tests.contracts.model.kit import compatible, openai_chat
from tests.contracts.model.kit.anthropic_binding import sealed
from tests.contracts.model.kit.anthropic_messages import PROVIDERS as CLAUDES
from tests.contracts.model.kit.anthropic_models import NEW, OLD
from tests.contracts.model.kit.rules import Issued, ServerMemory
from tests.contracts.model.kit.server import Provider
from tests.support.provider_http import Recorded, Wire

OPUS, SONNET, HAIKU = CLAUDES


@dataclass
class Case:
    """A request and what its server has said."""

    asked: Recorded
    memory: ServerMemory

    @property
    def body(self) -> Wire:
        return self.asked.body

    @property
    def messages(self) -> list[Wire]:
        messages: list[Wire] = self.asked.body["messages"]
        return messages


def taken(provider: Provider) -> Case:
    """A request that the provider takes: the second step of a tool loop."""
    return _of_claude(provider) if provider in CLAUDES else _of_chat(provider)


def _of_claude(provider: Provider) -> Case:
    thinking = {"type": "enabled", "budget_tokens": 1024} if provider is HAIKU else {"type": "adaptive"}
    body: Wire = {
        "model": provider.model,
        "max_tokens": 4096,
        "thinking": thinking,
        "system": [{"type": "text", "text": "Be kind."}],
        "tools": [{"name": "ring", "input_schema": {"type": "object", "properties": {}}}],
        "messages": [{"role": "user", "content": "Ring."}],
    }
    first, memory = Recorded("POST", "/v1/messages", {"anthropic-version": OLD}, body), ServerMemory()
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": ""},
        {"type": "text", "text": "I ring."},
        {"type": "thinking", "thinking": "Now.", "signature": ""},
        {"type": "tool_use", "id": "toolu_1", "name": "ring", "input": {}},
    ]
    issued = sealed(first, blocks, memory)
    memory.issued.append(Issued(first, tuple(issued)))
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rung"}
    turn = [{"role": "assistant", "content": deepcopy(issued)}, {"role": "user", "content": [result]}]
    return Case(Recorded("POST", first.path, dict(first.headers), body | {"messages": [*body["messages"], *turn]}), memory)


def _of_chat(provider: Provider) -> Case:
    call = {"id": "abcde0001", "type": "function", "function": {"name": "ring", "arguments": '{"x": "bell"}'}}
    message: Wire = {"role": "assistant", "content": None, "tool_calls": [call]}
    match provider.name:
        case "deepseek" | "kimi":
            message["reasoning_content"] = "Hm."
        case "gemini-openai":
            call["extra_content"] = {"google": {"thought_signature": "sig-1"}}
        case "openrouter":
            message["reasoning_details"] = [{"type": "reasoning.encrypted", "data": "enc-1"}]
    parameters = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": False}
    function = {"name": "ring", "parameters": parameters, "strict": True}
    messages = [{"role": "user", "content": "Ring."}, message, {"role": "tool", "tool_call_id": "abcde0001", "content": "rung"}]
    body: Wire = {"model": provider.model, "messages": messages, "tools": [{"type": "function", "function": function}]}
    if provider in openai_chat.PROVIDERS:
        body["reasoning_effort"] = "none"
    asked = Recorded("POST", "/v1/chat/completions", {}, body)
    return Case(asked, ServerMemory([Issued(asked, (deepcopy(message),))]))


Change = Callable[[Case], Any]


def member(**members: Any) -> Change:
    """Set members of the body."""
    return lambda case: case.body.update(members)


def messages(*new: Wire) -> Change:
    """Add messages."""
    return lambda case: case.messages.extend(deepcopy(new))


def swapped(case: Case) -> None:
    """All thinking first, then text: as a reply looks that was flattened."""
    content = case.messages[1]["content"]
    content[1], content[2] = content[2], content[1]


def schema_of(case: Case) -> Wire:
    found: Wire = case.body["tools"][0]["function"]["parameters"]
    return found


_CALL = {"id": "c9", "type": "function", "function": {"name": "ring", "arguments": "{}"}}
_CLAUDE: tuple[tuple[Provider, str, Change], ...] = (
    (OPUS, "known_version", lambda case: case.asked.headers.pop("anthropic-version")),
    (OPUS, "known_model", member(model="claude-2")),
    (OPUS, "known_members", member(frequency_penalty=1)),
    (OPUS, "known_members", member(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}})),
    (HAIKU, "no_sampling_in_the_new_version",
     lambda case: (case.asked.headers.update({"anthropic-version": NEW}), case.body.update(temperature=1))),
    (OPUS, "no_sampling_on_new_models", member(temperature=0.3)),
    (OPUS, "thinking_type_of_the_model", member(thinking={"type": "enabled", "budget_tokens": 1024})),
    (OPUS, "thinking_type_of_the_model", member(thinking={"type": "disabled"})),
    (HAIKU, "thinking_type_of_the_model", member(thinking={"type": "adaptive"})),
    (HAIKU, "budget_below_max_tokens", member(max_tokens=1024)),
    (HAIKU, "no_temperature_while_thinking", member(temperature=0.3)),
    (OPUS, "no_forced_tool", member(tool_choice={"type": "any"})),
    (SONNET, "no_forced_tool", member(tool_choice={"type": "tool", "name": "ring"})),
    (SONNET, "no_forced_tool", lambda case: (case.body.pop("thinking"), case.body.update(tool_choice={"type": "any"}))),
    (OPUS, "choice_needs_tools", lambda case: (case.body.pop("tools"), case.body.update(tool_choice={"type": "auto"}))),
    (OPUS, "output_schemas_are_closed", lambda case: case.body.update(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}})),
    (OPUS, "strict_schemas_are_closed", lambda case: case.body["tools"][0].update(strict=True)),
    (OPUS, "four_markers",
     lambda case: [case.body["system"].append({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}) for _ in range(5)]),
    (OPUS, "user_begins", lambda case: case.messages.pop(0)),
    (OPUS, "no_prefill", messages({"role": "assistant", "content": "I"})),
    (OPUS, "text_is_not_empty", messages({"role": "user", "content": ""})),
    (OPUS, "results_follow_their_calls", lambda case: case.messages.insert(2, {"role": "user", "content": "And?"})),
    (OPUS, "results_follow_their_calls", lambda case: case.messages[2]["content"][0].update(tool_use_id="toolu_9")),
    (OPUS, "errors_are_text",
     lambda case: case.messages[2]["content"][0].update(
         is_error=True, content=[{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}])),
    (OPUS, "signatures_are_known", lambda case: case.messages[1]["content"][0].update(signature="forged")),
    (OPUS, "signatures_are_known", lambda case: case.messages[1]["content"][0].update(thinking="Hmm.")),
    (SONNET, "latest_thinking_is_untouched", swapped),
    (SONNET, "latest_thinking_is_untouched", lambda case: case.messages[1]["content"].pop(0)),
    (HAIKU, "thinking_begins_the_tool_turn",
     lambda case: case.messages[1].update(content=[each for each in case.messages[1]["content"] if each["type"] != "thinking"])),
    (OPUS, "bound_thinking", member(system=[{"type": "text", "text": "Be brief."}])),
    (OPUS, "bound_thinking", lambda case: case.body["tools"].append({"name": "tell", "input_schema": {"type": "object"}})),
    (OPUS, "bound_thinking", lambda case: case.messages[0].update(content="Ring twice.")),
)  # fmt: skip
_OPENAI: tuple[tuple[Provider, str, Change], ...] = tuple((openai_chat.OPENAI, name, change) for name, change in (
    ("known_model", member(model="gpt-2")),
    ("known_members", member(thinking={"type": "adaptive"})),
    ("known_members", lambda case: case.messages[1].update(reasoning_content="Hm.")),
    ("efforts_of_the_model", member(reasoning_effort="minimal")),
    ("efforts_of_the_model", member(model="gpt-6-astra")),
    ("tools_without_reasoning", member(reasoning_effort="low")),
    ("tools_without_reasoning", lambda case: case.body.pop("reasoning_effort")),
    ("tools_without_reasoning", member(model="gpt-6-astra", reasoning_effort="low")),
    ("no_sampling_while_reasoning", lambda case: (case.body.pop("tools"), case.body.update(reasoning_effort="low", temperature=0.3))),
    ("no_logprobs_while_reasoning", lambda case: (case.body.pop("tools"), case.body.update(reasoning_effort="low", logprobs=True))),
    ("no_max_tokens", member(max_tokens=100)),
    ("at_most_128_tools", lambda case: case.body.update(tools=case.body["tools"] * 129)),
    ("call_ids_are_short", lambda case: (case.messages[1]["tool_calls"][0].update(id="x" * 41),
                                         case.messages[2].update(tool_call_id="x" * 41))),
    ("strict_schemas_are_closed", lambda case: schema_of(case).pop("additionalProperties")),
    ("strict_schemas_are_closed", lambda case: schema_of(case).update(required=[])),
    ("strict_schemas_are_closed", lambda case: schema_of(case)["properties"].update(x={"anyOf": [{"description": "any"}]})),
    ("tool_messages_follow_their_calls", lambda case: case.messages.pop()),
    ("tool_messages_follow_their_calls", lambda case: case.messages.pop(1)),
    ("call_ids_are_unique", messages({"role": "assistant", "tool_calls": [_CALL, _CALL]},
                                     {"role": "tool", "tool_call_id": "c9", "content": ""},
                                     {"role": "tool", "tool_call_id": "c9", "content": ""})),
    ("arguments_are_json_objects", lambda case: case.messages[1]["tool_calls"][0]["function"].update(arguments="{")),
    ("choice_needs_tools", lambda case: (case.body.pop("tools"), case.body.update(tool_choice="auto"))),
    ("stream_options_need_a_stream", member(stream_options={"include_usage": True})),
))  # fmt: skip
_COMPATIBLE: tuple[tuple[Provider, str, Change], ...] = (
    (compatible.DEEPSEEK, "deepseek_thoughts_come_back", lambda case: case.messages[1].pop("reasoning_content")),
    (compatible.DEEPSEEK, "deepseek_thoughts_come_back", lambda case: case.messages[1].update(reasoning_content="Hmm.")),
    (compatible.DEEPSEEK, "deepseek_thoughts_come_back", lambda case: case.messages[1].update(reasoning_content="")),
    (compatible.KIMI, "kimi_thoughts_come_back", lambda case: case.messages[1].pop("reasoning_content")),
    (compatible.DEEPSEEK, "deepseek_forces_no_tool", member(tool_choice="required")),
    (compatible.KIMI, "kimi_forces_no_tool", member(tool_choice="required")),
    (compatible.KIMI, "kimi_temperature_is_fixed", member(temperature=0.7)),
    (compatible.MISTRAL, "mistral_knows_all_members", member(user="agent-1")),
    (compatible.MISTRAL, "mistral_knows_all_members", member(stream_options={"include_usage": True}, stream=True)),
    (compatible.MISTRAL, "mistral_knows_all_members", lambda case: case.messages[1].update(reasoning_content="Hm.")),
    (compatible.MISTRAL, "mistral_efforts_of_the_model", member(reasoning_effort="high")),
    (compatible.MISTRAL, "mistral_efforts_of_the_model", member(model="mistral-small-latest", reasoning_effort="low")),
    (compatible.MISTRAL, "mistral_call_ids", lambda case: (case.messages[1]["tool_calls"][0].update(id="call_1"),
                                                           case.messages[2].update(tool_call_id="call_1"))),
    (compatible.MISTRAL, "mistral_order_of_roles", messages({"role": "user", "content": "And?"})),
    (compatible.MISTRAL, "mistral_order_of_roles", messages({"role": "assistant", "content": "Rung."})),
    (compatible.GEMINI, "gemini_signatures_come_back", lambda case: case.messages[1]["tool_calls"][0].pop("extra_content")),
    (compatible.GROQ, "groq_knows_all_members", member(prompt_cache_key="c")),
    (compatible.GROQ, "groq_efforts_of_the_model", member(reasoning_effort="xhigh")),
    (compatible.GROQ, "groq_efforts_of_the_model", member(model="qwen/qwen3-32b", reasoning_effort="high")),
    (compatible.GROQ, "groq_efforts_of_the_model", member(model="llama-3.3-70b-versatile", reasoning_effort="low")),
    (compatible.GROQ, "groq_has_a_format_or_tools", member(response_format={"type": "json_object"})),
    (compatible.GROQ, "groq_knows_no_reasoning_content", lambda case: case.messages[1].update(reasoning_content="Hm.")),
    (compatible.XAI, "xai_effort_of_some_models", member(reasoning_effort="high")),
    (compatible.XAI, "xai_takes_no_penalties", member(frequency_penalty=0.5)),
    (compatible.ZAI, "zai_choice_is_auto", member(tool_choice="required")),
    (compatible.ZAI, "zai_wants_a_user", lambda case: case.messages.pop(0)),
    (compatible.MINIMAX, "minimax_one_system_message", messages({"role": "system", "content": "Careful."})),
    (compatible.MINIMAX, "minimax_thinking_types", member(thinking={"type": "enabled"})),
    (compatible.OLLAMA, "ollama_effort_of_thinking_models", member(model="llama3.1:8b", reasoning_effort="high")),
    (compatible.VLLM, "qwen_system_stands_first", messages({"role": "system", "content": "Careful."})),
    (compatible.OPENROUTER, "openrouter_details_come_back", lambda case: case.messages[1].pop("reasoning_details")),
)  # fmt: skip
BAD_REQUESTS = (*_CLAUDE, *_OPENAI, *_COMPATIBLE)
