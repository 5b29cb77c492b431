"""The rules of OpenAI's Responses API, without state on the server, with their sources. The SDK is `openai` as locked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming

from tests.contracts.model.kit.chat_server import refusal
from tests.contracts.model.kit.openai_chat import at_most_128_tools, loose
from tests.contracts.model.kit.rules import Check, ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.typed import complaints
from tests.support.provider_http import Recorded, Wire

LEAST_OUTPUT, LONGEST_KEY, LONGEST_ID = 16, 64, 64
SINCE_5_1 = ("none", "low", "medium", "high", "xhigh")
ALWAYS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class ResponsesGpt:
    """A model: its efforts (none: it does not reason), and the one it has if none is asked for."""

    efforts: tuple[str, ...]
    default: str = "medium"


MODELS = {
    "gpt-4.1": ResponsesGpt((), "none"),
    "gpt-5.4": ResponsesGpt(SINCE_5_1, "none"),
    "gpt-5.4-pro": ResponsesGpt(("medium", "high", "xhigh")),
    "gpt-5.5": ResponsesGpt(SINCE_5_1),
    "gpt-5.6-sol": ResponsesGpt((*SINCE_5_1, "max")),
    "gpt-6-astra": ResponsesGpt(ALWAYS),
    "gpt-6-luna": ResponsesGpt((*SINCE_5_1, "max")),
    "gpt-6.1-sol": ResponsesGpt(ALWAYS),
    "gpt-6.2-astra": ResponsesGpt(ALWAYS),
}


def effort_of(asked: Recorded) -> str:
    return (asked.body.get("reasoning") or {}).get("effort") or MODELS[asked.body["model"]].default


def items_of(asked: Recorded, kind: str) -> Iterator[tuple[int, Wire]]:
    """The items of a type with their places in the input."""
    return ((at, item) for at, item in enumerate(asked.body["input"]) if item.get("type") == kind)


def known_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    name = asked.body.get("model")
    return None if name in MODELS else refusal(f"The requested model '{name}' does not exist.", code="model_not_found")


def known_members(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    kind = ResponseCreateParamsStreaming if asked.body.get("stream") else ResponseCreateParamsNonStreaming
    found = complaints(asked.body, kind)
    return refusal(f"Unknown or invalid parameter: '{found[0][0]}': {found[0][1]}", param=found[0][0]) if found else None


def efforts_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    model = asked.body["model"]
    efforts, reasoning = MODELS[model].efforts, asked.body.get("reasoning") or {}
    if reasoning and not efforts:
        text = f"Unsupported parameter: 'reasoning.{next(iter(reasoning))}' is not supported with this model."
        return refusal(text, param="reasoning", code="unsupported_parameter")
    wanted = reasoning.get("effort")
    if wanted is None or wanted in efforts:
        return None
    text = f"Unsupported value: '{wanted}' is not supported with the '{model}' model."
    return refusal(
        f"{text} Supported values are: {', '.join(map(repr, efforts))}.", param="reasoning.effort", code="unsupported_value"
    )


def no_sampling_while_reasoning(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if effort_of(asked) == "none":
        return None
    found = [name for name in ("temperature", "top_p", "top_logprobs") if asked.body.get(name) is not None]
    if "message.output_text.logprobs" in (asked.body.get("include") or ()):
        found.append("logprobs")
    text = f"Unsupported parameter: '{found[0]}' is not supported with this model." if found else ""
    return refusal(text, param=found[0]) if found else None


def encrypted_content_of_reasoning_models(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if MODELS[asked.body["model"]].efforts or "reasoning.encrypted_content" not in (asked.body.get("include") or ()):
        return None
    return refusal("Encrypted content is not supported with this model.", param="include")


def at_least_16_tokens(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    most = asked.body.get("max_output_tokens")
    if most is None or most >= LEAST_OUTPUT:
        return None
    text = (
        f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {LEAST_OUTPUT}, but got {most} instead."
    )
    return refusal(text, param="max_output_tokens", code="integer_below_min_value")


def keys_are_short(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for name, longest in (("prompt_cache_key", LONGEST_KEY), ("safety_identifier", 128)):
        length = len(asked.body.get(name) or "")
        if length > longest:
            text = f"Invalid '{name}': string too long. Expected a string with maximum length {longest}"
            return refusal(f"{text}, but got a string with length {length} instead.", param=name, code="string_above_max_length")
    return None


def call_ids_are_short(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for at, item in enumerate(asked.body["input"]):
        length = len(item.get("call_id") or "x")
        if length > LONGEST_ID:
            text = f"Invalid 'input[{at}].call_id': string too long. Expected a string with maximum length {LONGEST_ID}"
            return refusal(f"{text}, but got a string with length {length} instead.", code="string_above_max_length")
    return None


def strict_schemas_are_closed(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for tool in asked.body.get("tools") or ():
        if tool.get("strict", True) is not False and (found := next(loose(tool.get("parameters")), None)):
            text = f"Invalid schema for function '{tool['name']}': {found}"
            return refusal(text, param="tools", code="invalid_function_parameters")
    form = (asked.body.get("text") or {}).get("format") or {}
    if form.get("strict") and (found := next(loose(form.get("schema")), None)):
        return refusal(f"Invalid schema for response_format '{form['name']}': {found}", param="text.format.schema")
    return None


def chosen_tools_exist(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    choice, names = asked.body.get("tool_choice"), [tool["name"] for tool in asked.body.get("tools") or ()]
    if choice is not None and not names:
        return refusal("Tool choice is only allowed when 'tools' are specified.", param="tool_choice")
    if not isinstance(choice, dict):
        return None
    chosen = [tool["name"] for tool in choice.get("tools", [choice])]
    if not chosen or (missing := [name for name in chosen if name not in names]):
        return refusal(f"Tool choice '{missing[0] if chosen else ''}' not found in 'tools' parameter.", param="tool_choice")
    return None


def item_ids_are_stored(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """Nothing is stored: only reasoning that brings its content may be named by its id."""
    sent = [asked.body.get("previous_response_id")]
    for item in asked.body["input"]:
        if item.get("type") != "reasoning" or not item.get("encrypted_content"):
            sent.append(item.get("id"))
    for each in filter(None, sent):
        text = f"Item with id '{each}' not found. Items are not persisted when `store` is set to false."
        return refusal(f"{text} Try again with `store` set to true, or remove this item from your input.", 404, param="input")
    return None


def encrypted_content_is_its_items(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    for _, item in items_of(asked, "reasoning"):
        sealed = item["encrypted_content"]
        own = memory.seals.get(sealed)
        if own is None or own["id"] != item.get("id") or own["summary"] != item.get("summary"):
            text = f"The encrypted content {sealed[:4]}... could not be verified."
            return refusal(text, code="invalid_encrypted_content")
    return None


def reasoning_is_followed_by_its_item(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """A reply's reasoning goes back before what it led to."""
    after = {
        item["id"]: each.items[at + 1] if at + 1 < len(each.items) else None
        for each in memory.issued
        for at, item in enumerate(each.items)
        if item["type"] == "reasoning"
    }
    for at, item in items_of(asked, "reasoning"):
        sent, wanted = asked.body["input"], after.get(item["id"])
        if wanted is None or at + 1 >= len(sent) or _essence(sent[at + 1]) != _essence(wanted):
            return refusal(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.", param="input"
            )
    return None


def _essence(item: Wire) -> Any:
    """What an item says, in whichever of its forms."""
    match item.get("type"):
        case "function_call":
            return item["call_id"], item["name"], item["arguments"]
        case "message":
            content = item["content"]
            text = content if isinstance(content, str) else "".join(part.get("text") or part.get("refusal") for part in content)
            return item["role"], text, item.get("phase")
        case _:
            return item.get("id")


def each_call_has_its_output(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    open_calls: list[str] = []
    for item in asked.body["input"]:
        if item.get("type") == "function_call":
            open_calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item.get("call_id") not in open_calls:
                text = f"No tool call found for function call output with call_id {item.get('call_id')}."
                return refusal(text, param="input")
            open_calls.remove(item["call_id"])
        elif open_calls and item.get("role") in ("user", "developer", "system"):
            break
    return refusal(f"No tool output found for function call {open_calls[0]}.", param="input") if open_calls else None


def call_ids_are_unique(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    ids = [item["call_id"] for _, item in items_of(asked, "function_call")]
    twice = [each for each in ids if ids.count(each) > 1]
    return refusal(f"Duplicate item found with id {twice[0]}.", param="input") if twice else None


def images_are_addresses(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for at, item in enumerate(asked.body["input"]):
        parts = item.get("content") or item.get("output")
        for part in parts if isinstance(parts, list) else ():
            if part.get("type") == "input_image" and not str(part.get("image_url")).startswith(("data:image/", "https://")):
                return refusal(f"Invalid 'input[{at}].content[0].image_url'. Expected a valid URL.", code="invalid_value")
    return None


def json_is_asked_for(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    form = (asked.body.get("text") or {}).get("format") or {}
    if form.get("type") != "json_object" or "json" in json.dumps(asked.body["input"]).lower():
        return None
    text = "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
    return refusal(text, param="input")


EFFORT_SOURCES = (
    "anomalyco/opencode#26268, withceleste/celeste-python#368 (up to 5.5); livekit/agents#7169 (5.6); UKGovernmentBEIS/inspect_ai#5254 (6 Astra); help.openai.com/articles/20001600"
    " (6 Luna); goruck/home-generative-agent v3.46.0-beta.1 (6.1 Sol); developers.openai.com/api/docs/guides/latest-model/gpt-6.2-astra"
)
_SOURCES: tuple[tuple[Check, str], ...] = (
    (known_model, "openai/types/shared/responses_model.py"),
    (known_members, "openai/types/responses/response_create_params.py"),
    (
        efforts_of_the_model,
        EFFORT_SOURCES,
    ),
    (no_sampling_while_reasoning, "developers.openai.com/api/docs/guides/deployment-checklist; BerriAI/litellm#39631"),
    (encrypted_content_of_reasoning_models, "OpenHands/software-agent-sdk#1208; pydantic/pydantic-ai#3332"),
    (at_least_16_tokens, "earendil-works/pi#6265"),
    (keys_are_short, "everruns/everruns#1875; openai/types/responses/response_create_params.py (safety_identifier)"),
    (call_ids_are_short, "can1357/oh-my-pi#457"),
    (at_most_128_tools, "anomalyco/opencode#4909"),
    (
        strict_schemas_are_closed,
        "developers.openai.com/api/docs/guides/structured-outputs; openai/types/responses/function_tool_param.py (strict is required)",
    ),
    (
        chosen_tools_exist,
        "openai/types/responses/tool_choice_allowed_param.py; developers.openai.com/api/docs/guides/function-calling",
    ),
    (item_ids_are_stored, "langchain-ai/langchain#38372; openclaw/openclaw#84904; vercel/ai#7543; anomalyco/opencode#7724"),
    (encrypted_content_is_its_items, "openclaw/openclaw#90425; dotnet/extensions#7629; openai/codex#8145"),
    (reasoning_is_followed_by_its_item, "continuedev/continue#8933; vercel/ai#7099"),
    (each_call_has_its_output, "router-for-me/CLIProxyAPI#2368; continuedev/continue#10092"),
    (call_ids_are_unique, "openai/types/responses/response_function_tool_call_param.py (call_id: the unique ID)"),
    (images_are_addresses, "openai/types/responses/response_input_image_param.py"),
    (json_is_asked_for, "developers.openai.com/api/docs/guides/structured-outputs (JSON mode)"),
)
RESPONSES_RULES = tuple(Rule(check.__name__, source, check) for check, source in _SOURCES)
