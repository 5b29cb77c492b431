"""The documented rules of Bedrock's Converse API, each with its source. Its types are those of botocore as locked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from tests.contracts.model.kit.bedrock_rules import SHARED, model_of, refusal
from tests.contracts.model.kit.rules import Check, ErrorResponse, Rule, ServerMemory
from tests.support.provider_http import Recorded, Wire

NOVA, LLAMA, DEEPSEEK = "eu.amazon.nova-lite-v1:0", "eu.meta.llama4-scout-17b-instruct-v1:0", "deepseek.v3-v1:0"
_FORCED = (NOVA,)
_FORMS = (DEEPSEEK,)
_DOCS = "docs.aws.amazon.com/bedrock/latest"


@cache
def _request() -> Any:
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2")).shape_for("ConverseRequest")


def _blocks(asked: Recorded) -> Iterator[tuple[str, Wire]]:
    """Role and block of all messages."""
    for message in asked.body["messages"]:
        for block in message["content"]:
            yield message["role"], block


def _uses(message: Wire, kind: str) -> list[str]:
    return [block[kind]["toolUseId"] for block in message["content"] if kind in block]


def converses(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if model_of(asked) not in (NOVA, LLAMA, DEEPSEEK):
        return refusal("The provided model identifier is invalid.")
    return (
        None
        if asked.path.endswith(("/converse", "/converse-stream"))
        else refusal("Unknown operation", 404, "UnknownOperationException")
    )


def members_of_converse(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    found = ParamValidator().validate(asked.body | {"modelId": model_of(asked)}, _request())
    return refusal(found.generate_report()) if found.has_errors() else None


def roles_alternate(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    roles = [message["role"] for message in asked.body["messages"]]
    if roles[:1] != ["user"]:
        return refusal(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message."
        )
    if any(one == other for one, other in pairwise(roles)):
        return refusal("A conversation must alternate between user and assistant roles.")
    return (
        None
        if roles[-1] == "user"
        else refusal("This model does not support assistant message prefill. The conversation must end with a user message.")
    )


def no_blank_text(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    inner = [each for _, block in _blocks(asked) for each in block.get("toolResult", {}).get("content", ())]
    texts = [block["text"] for block in (*(block for _, block in _blocks(asked)), *inner) if "text" in block]
    return (
        refusal("The text field in the ContentBlock object is blank. Add text to the text field, and try again.")
        if not all(map(str.strip, texts))
        else None
    )


def tools_are_configured(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    used = any({"toolUse", "toolResult"} & block.keys() for _, block in _blocks(asked))
    text = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    return refusal(text) if used and "toolConfig" not in asked.body else None


def results_answer_calls(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    before: Wire = {"content": []}
    for at, message in enumerate([*asked.body["messages"], {"role": "user", "content": []}]):
        calls, results = _uses(before, "toolUse"), _uses(message, "toolResult")
        if set(results) - set(calls) or len(results) > len(calls):
            return refusal(
                f"The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of previous turn."
            )
        if set(calls) - set(results):
            return refusal(f"Expected toolResult blocks at messages.{at}.content for the following Ids: {', '.join(calls)}")
        before = message
    return None


def no_reasoning_of_its_own(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    text = "User messages cannot contain reasoning content. Please remove the reasoning content and try again."
    return refusal(text) if any("reasoningContent" in block for _, block in _blocks(asked)) else None


def choice_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    choice = next(iter(asked.body.get("toolConfig", {}).get("toolChoice", {})), None)
    if choice is None or model_of(asked) in _FORCED:
        return None
    return refusal(
        f"This model doesn't support the toolConfig.toolChoice.{choice} field. Remove toolConfig.toolChoice.{choice} and try again."
    )


def tools_are_not_streamed(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    streams = asked.path.endswith("-stream") and "toolConfig" in asked.body
    return refusal("This model doesn't support tool use in streaming mode.") if streams and model_of(asked) == LLAMA else None


def cache_points_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    marked = "'cachePoint'" in str([asked.body.get("system"), asked.body["messages"], asked.body.get("toolConfig")])
    text = "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information."
    return refusal(text, 403, "AccessDeniedException") if marked and model_of(asked) != NOVA else None


def status_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    told = [block for _, block in _blocks(asked) if "status" in block.get("toolResult", {})]
    text = "This model doesn't support the status field. Remove status and try again."
    return refusal(text) if told and model_of(asked) != NOVA else None


def temperature_is_at_most_one(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    value = asked.body.get("inferenceConfig", {}).get("temperature", 0)
    text = f"The value at inferenceConfig.temperature: {value} is greater than the maximum allowed value 1"
    return refusal(text) if value > 1 else None


def _open_objects(schema: Any) -> bool:
    """Whether an object of the schema may have more properties than it names."""
    if isinstance(schema, list):
        return any(map(_open_objects, schema))
    if not isinstance(schema, dict):
        return False
    opened = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    return opened or any(map(_open_objects, schema.values()))


def form_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if "outputConfig" not in asked.body or model_of(asked) in _FORMS:
        return None
    return refusal("This model doesn't support the outputConfig.textFormat field. Remove outputConfig.textFormat and try again.")


def form_is_a_closed_schema(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    """The schema is JSON in a string, and its objects are closed."""
    form = asked.body.get("outputConfig", {}).get("textFormat")
    if form is None:
        return None
    try:
        schema = json.loads(form["structure"]["jsonSchema"]["schema"])
    except ValueError:
        return refusal("The schema in outputConfig.textFormat is not valid JSON.")
    if form["type"] != "json_schema" or not isinstance(schema, dict):
        return refusal("The value at outputConfig.textFormat.type must be json_schema.")
    if _open_objects(schema):
        return refusal("For 'object' type, 'additionalProperties' must be explicitly set to false.")
    return None


_SOURCES: tuple[tuple[Check, str], ...] = (
    *SHARED,
    (converses, f"{_DOCS}/APIReference/API_runtime_Converse.html"),
    (members_of_converse, "botocore/data/bedrock-runtime/2023-09-30/service-2.json, ConverseRequest"),
    (
        roles_alternate,
        f"{_DOCS}/APIReference/API_runtime_Message.html; langchain-ai/langchain-aws#101; aws-samples/bedrock-access-gateway#78",
    ),
    (no_blank_text, "langchain-ai/langchain-aws#226; aws/aws-toolkit-vscode#6367"),
    (tools_are_configured, "BerriAI/litellm#5388; langchain-ai/langchain-aws#140"),
    (results_answer_calls, "strands-agents/sdk-python#495; langchain-ai/langchain-aws#272"),
    (no_reasoning_of_its_own, "can1357/oh-my-pi#9086; langchain-ai/langchain-aws#401"),
    (choice_of_the_model, "vercel/ai#4396; aws-samples/bedrock-access-gateway#92"),
    (tools_are_not_streamed, "earendil-works/pi#3739; run-llama/llama_index#19655"),
    (cache_points_of_the_model, f"{_DOCS}/userguide/prompt-caching.html (supported models); Portkey-AI/docs-core#1025"),
    (status_of_the_model, "botocore/data/bedrock-runtime/2023-09-30/service-2.json, ToolResultBlock.status"),
    (
        form_of_the_model,
        f"{_DOCS}/userguide/structured-output.html (supported models); langchain4j/langchain4j#4552; BerriAI/litellm#35655",
    ),
    (
        form_is_a_closed_schema,
        f"{_DOCS}/APIReference/API_runtime_OutputFormat.html; BerriAI/litellm#21222; microsoft/agent-framework#6052",
    ),
    (temperature_is_at_most_one, f"{_DOCS}/APIReference/API_runtime_InferenceConfiguration.html; mnfst/modelparams.dev#305"),
)
CONVERSE_RULES = tuple(Rule(check.__name__, source, check) for check, source in _SOURCES)
