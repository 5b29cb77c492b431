"""OpenAI's own Chat Completions: its rules with their sources, and its servers. The SDK is `openai` as locked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming

from tests.contracts.model.kit.chat_rules import CHAT_RULES
from tests.contracts.model.kit.chat_server import ChatServer, Traits, refusal, served
from tests.contracts.model.kit.rules import Check, ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.server import Provider
from tests.contracts.model.kit.typed import complaints
from tests.support.provider_http import Recorded

MOST_TOOLS = 128
LONGEST_ID = 40


@dataclass(frozen=True)
class Gpt:
    """A model: its efforts, the one it has if none is asked for, and whether it takes tools on this wire with the effort
    `none`.
    """

    efforts: tuple[str, ...]
    default: str
    tools: bool = True


MODELS = {
    "gpt-5.4": Gpt(("none", "low", "medium", "high", "xhigh"), "none"),
    "gpt-5.6-sol": Gpt(("none", "low", "medium", "high", "xhigh", "max"), "medium"),
    "gpt-6-astra": Gpt(("low", "medium", "high", "xhigh", "max"), "medium", tools=False),
}


def _effort(asked: Recorded) -> str:
    return asked.body.get("reasoning_effort") or MODELS[asked.body["model"]].default


def known_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    name = asked.body.get("model")
    if name in MODELS:
        return None
    return refusal(f"The model `{name}` does not exist or you do not have access to it.", 404, code="model_not_found")


def known_members(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    kind = CompletionCreateParamsStreaming if asked.body.get("stream") else CompletionCreateParamsNonStreaming
    found = complaints(asked.body, kind)
    return refusal(f"Unknown or invalid parameter: '{found[0][0]}': {found[0][1]}", param=found[0][0]) if found else None


def efforts_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    efforts, wanted = MODELS[asked.body["model"]].efforts, asked.body.get("reasoning_effort")
    if wanted is None or wanted in efforts:
        return None
    text = f"Unsupported value: 'reasoning_effort' does not support '{wanted}' with this model."
    return refusal(
        f"{text} Supported values are: {', '.join(map(repr, efforts))}.", param="reasoning_effort", code="unsupported_value"
    )


def tools_without_reasoning(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    model = asked.body["model"]
    if not asked.body.get("tools") or (MODELS[model].tools and _effort(asked) == "none"):
        return None
    text = f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions."
    hint = "use /v1/responses or set reasoning_effort to 'none'" if MODELS[model].tools else "use /v1/responses"
    return refusal(f"{text} To use function tools, {hint}.", param="reasoning_effort")


def no_sampling_while_reasoning(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for name in ("temperature", "top_p"):
        if asked.body.get(name) not in (None, 1, 1.0) and _effort(asked) != "none":
            text = f"Unsupported value: '{name}' does not support {asked.body[name]} with this model."
            return refusal(f"{text} Only the default (1) value is supported.", param=name, code="unsupported_value")
    return None


def no_logprobs_while_reasoning(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if not asked.body.get("logprobs") or _effort(asked) == "none":
        return None
    return refusal("Unsupported parameter: 'logprobs' is not supported with this model.", param="logprobs")


def no_max_tokens(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if "max_tokens" not in asked.body:
        return None
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    return refusal(text, param="max_tokens", code="unsupported_parameter")


def at_most_128_tools(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    count = len(asked.body.get("tools") or ())
    if count <= MOST_TOOLS:
        return None
    text = f"Invalid 'tools': array too long. Expected an array with maximum length {MOST_TOOLS}, but got an array with length {count}"
    return refusal(f"{text} instead.", param="tools", code="array_above_max_length")


def call_ids_are_short(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for at, message in enumerate(asked.body["messages"]):
        ids = [call["id"] for call in message.get("tool_calls") or ()] + [message.get("tool_call_id") or ""]
        if long := [each for each in ids if len(each) > LONGEST_ID]:
            text = (
                f"Invalid 'messages[{at}].tool_calls[0].id': string too long. Expected a string with maximum length {LONGEST_ID}"
            )
            return refusal(f"{text}, but got a string with length {len(long[0])} instead.", code="string_above_max_length")
    return None


def loose(schema: Any, place: tuple[str, ...] = ()) -> Iterator[str]:
    """What strict mode refuses in a schema, in its words."""
    if not isinstance(schema, dict):
        return
    if not {"type", "anyOf", "$ref", "enum", "const"} & set(schema):
        yield f"In context={place}, schema must have a 'type' key."
    for word in ("allOf", "oneOf", "not", "if", "patternProperties"):
        if word in schema:
            yield f"In context={place}, '{word}' is not permitted."
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind == "object":
            yield from _loose_object(schema, place)
        elif kind == "array":
            yield from loose(schema.get("items", {}), (*place, "items"))
    for at, each in enumerate(schema.get("anyOf") or ()):
        yield from loose(each, (*place, "anyOf", str(at)))
    for name, each in (schema.get("$defs") or {}).items():
        yield from loose(each, (*place, "$defs", name))


def _loose_object(schema: Any, place: tuple[str, ...]) -> Iterator[str]:
    properties = schema.get("properties") or {}
    if schema.get("additionalProperties") is not False:
        yield f"In context={place}, 'additionalProperties' is required to be supplied and to be false."
    if missing := [name for name in properties if name not in (schema.get("required") or ())]:
        text = "'required' is required to be supplied and to be an array including every key in properties."
        yield f"In context={place}, {text} Missing '{missing[0]}'."
    for name, each in properties.items():
        yield from loose(each, (*place, "properties", name))


def strict_schemas_are_closed(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for tool in asked.body.get("tools") or ():
        function = tool["function"]
        if function.get("strict") and (found := next(loose(function.get("parameters")), None)):
            return refusal(
                f"Invalid schema for function '{function['name']}': {found}", param="tools", code="invalid_function_parameters"
            )
    return None


_SOURCES: tuple[tuple[Check, str], ...] = (
    (known_model, "openai/types/shared/chat_model.py"),
    (known_members, "openai/types/chat/completion_create_params.py"),
    (
        efforts_of_the_model,
        "openai/types/shared/reasoning_effort.py; developers.openai.com/api/docs/guides/latest-model; Kilo-Org/cloud#3807",
    ),
    (
        tools_without_reasoning,
        "itzcrazykns/vane#1173; openai/openai-openapi#541; docs.apiyi.com gpt-6-astra (all tools refused); litellm#34569",
    ),
    (no_sampling_while_reasoning, "itzcrazykns/vane#1173; developers.openai.com/api/docs/guides/latest-model"),
    (no_logprobs_while_reasoning, "developers.openai.com/api/docs/guides/deployment-checklist"),
    (no_max_tokens, "openai/types/chat/completion_create_params.py (max_tokens)"),
    (at_most_128_tools, "platform.openai.com/docs/api-reference/chat/create (tools: a max of 128 functions)"),
    (call_ids_are_short, "camel-ai/camel#2215; BerriAI/litellm#17343; anomalyco/opencode#12653"),
    (
        strict_schemas_are_closed,
        "platform.openai.com/docs/guides/structured-outputs; sherifkozman/the-llm-council#17; agentscope-java#2548",
    ),
)
RULES = (*(Rule(check.__name__, source, check) for check, source in _SOURCES), *CHAT_RULES)


def _variables(address: str) -> Mapping[str, str]:
    return {"OPENAI_API_KEY": "sk-kit", "OPENAI_BASE_URL": f"{address}/v1"}


OPENAI = Provider(
    "openai-chat",
    "openai/gpt-5.6-sol",
    served(Traits(most_tools=MOST_TOOLS)),
    RULES,
    _variables,
    thinks=False,
    lists=[{"id": each} for each in MODELS],
)


def _of_deployment(rule: Rule) -> Rule:
    """The rule as the model behind a deployment has it: the request names the deployment."""

    def check(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
        return rule.check(replace(asked, body=asked.body | {"model": OPENAI.model}), memory)

    return replace(rule, check=check)


class AzureServer(ChatServer):
    """Azure's v1 route. Its list names base models, so that a deployment is not in it
    (learn.microsoft.com/azure/ai-foundry/openai/latest).
    """

    traits = Traits(most_tools=MOST_TOOLS)
    prefix = "/openai/v1"
    most_tools = MOST_TOOLS

    @property
    def chat_models(self) -> list[str]:
        return []


AZURE = Provider(
    "azure",
    "azure/our-chat",
    AzureServer,
    tuple(_of_deployment(rule) for rule in RULES),
    lambda address: {"AZURE_API_KEY": "sk-kit", "AZURE_BASE_URL": address},
    thinks=False,
    learned=frozenset({"tools_without_reasoning", "no_sampling_while_reasoning"}),
)
"""A deployment with a name of its own."""
PROVIDERS = (OPENAI, AZURE)
