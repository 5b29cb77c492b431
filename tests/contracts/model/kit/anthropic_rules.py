"""The documented rules of Anthropic's Messages API, each with its source. The SDK is `anthropic` as locked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaWhole
from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming as BetaStreamed
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Whole
from anthropic.types.message_create_params import MessageCreateParamsStreaming as Streamed

from tests.contracts.model.kit.anthropic_binding import THINKING, content_of, mark, misplaced, places, without_markers
from tests.contracts.model.kit.anthropic_models import BINDING_BETA, MODELS, NEW, OLD, Claude
from tests.contracts.model.kit.rules import Check, ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.typed import complaints
from tests.support.provider_http import Recorded, Wire

SAMPLING = ("temperature", "top_p", "top_k")
MOST_MARKERS = 4
FORCED = ("any", "tool")


def refusal(message: str, status: int = 400, kind: str = "invalid_request_error") -> ErrorResponse:
    """The form of all errors (platform.claude.com/docs/en/api/errors)."""
    return ErrorResponse(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_000001"})


def _claude(asked: Recorded) -> Claude:
    return MODELS[asked.body["model"]]


def _thinks(asked: Recorded) -> str:
    """The type of thinking in force."""
    return str((asked.body.get("thinking") or {}).get("type") or _claude(asked).default)


def _blocks(asked: Recorded) -> Iterator[tuple[str, str, Wire]]:
    """Path, role and block of all messages."""
    for at, message in enumerate(asked.body["messages"]):
        for number, block in enumerate(content_of(message)):
            yield f"messages.{at}.content.{number}", message["role"], block


def known_version(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    version = asked.headers.get("anthropic-version")
    return None if version in (OLD, NEW) else refusal(f"anthropic-version: {version!r} is not a valid version")


def known_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    return None if asked.body.get("model") in MODELS else refusal(f"model: {asked.body.get('model')}", 404, "not_found_error")


def known_members(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    streams, beta = bool(asked.body.get("stream")), BINDING_BETA in asked.headers.get("anthropic-beta", "")
    kind = (BetaStreamed if streams else BetaWhole) if beta else (Streamed if streams else Whole)
    found = complaints(asked.body, kind, more=SAMPLING)
    return refusal("; ".join(f"{place}: {what}" for place, what in found[:3])) if found else None


def no_sampling_in_the_new_version(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    sent = [name for name in SAMPLING if name in asked.body]
    if sent and asked.headers.get("anthropic-version") == NEW:
        return refusal(f"{sent[0]}: Extra inputs are not permitted")
    return None


def no_sampling_on_new_models(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    sent = [name for name in SAMPLING if asked.body.get(name) not in (None, 1, 1.0)]
    return refusal(f"`{sent[0]}` is deprecated for this model.") if sent and not _claude(asked).sampling else None


def thinking_type_of_the_model(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    kind = (asked.body.get("thinking") or {}).get("type")
    if kind is None or kind in _claude(asked).types:
        return None
    hint = ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.' if kind == "enabled" else ""
    return refusal(f'"thinking.type.{kind}" is not supported for this model.{hint}')


def budget_below_max_tokens(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    budget = (asked.body.get("thinking") or {}).get("budget_tokens")
    if budget is None:
        return None
    if budget < 1024:
        return refusal("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    return refusal("`max_tokens` must be greater than `thinking.budget_tokens`.") if budget >= asked.body["max_tokens"] else None


def no_temperature_while_thinking(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    thinks = _thinks(asked) in ("adaptive", "enabled")
    if thinks and asked.body.get("temperature") not in (None, 1, 1.0):
        return refusal("`temperature` may only be set to 1 when thinking is enabled.")
    return None


def no_forced_tool(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if (asked.body.get("tool_choice") or {}).get("type") not in FORCED:
        return None
    if not _claude(asked).forced:
        return refusal('tool_choice: type "tool" and "any" are not supported for this model.')
    return None if _thinks(asked) == "disabled" else refusal("Thinking may not be enabled when tool_choice forces tool use.")


def choice_needs_tools(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    return (
        refusal("tool_choice may only be specified while providing tools.")
        if (asked.body.get("tool_choice") and not asked.body.get("tools"))
        else None
    )


def strict_schemas_are_closed(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for number, tool in enumerate(asked.body.get("tools") or ()):
        if tool.get("strict") and any(each.get("additionalProperties") is not False for each in objects(tool["input_schema"])):
            text = (
                f"tools.{number}.custom.input_schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
            return refusal(text)
    return None


def output_schemas_are_closed(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    form = (asked.body.get("output_config") or {}).get("format") or {}
    if any(each.get("additionalProperties") is not False for each in objects(form.get("schema"))):
        text = "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
        return refusal(text)
    return None


def objects(schema: Any) -> Iterator[Wire]:
    """The schemas of objects in a schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind == "object" or (isinstance(kind, list) and "object" in kind):
            yield schema
        for each in schema.values():
            yield from objects(each)


def four_markers(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    count = str(asked.body).count("'cache_control': {")
    text = f"A maximum of {MOST_MARKERS} blocks with cache_control may be provided. Found {count}."
    return refusal(text) if count > MOST_MARKERS else None


def user_begins(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    first = asked.body["messages"][0]["role"] if asked.body["messages"] else None
    return None if first == "user" else refusal('messages: first message must use the "user" role')


def no_prefill(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if asked.body["messages"][-1]["role"] == "assistant" and "adaptive" in _claude(asked).types:
        return refusal("This model does not support assistant message prefill. The conversation must end with a user message.")
    return None


def text_is_not_empty(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    empty = [path for path, _role, block in _blocks(asked) if block.get("type") == "text" and not block["text"]]
    return refusal("messages: text content blocks must be non-empty") if empty else None


def results_follow_their_calls(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    messages = asked.body["messages"]
    for at, message in enumerate(messages):
        uses = [block["id"] for block in content_of(message) if block.get("type") == "tool_use"]
        after = content_of(messages[at + 1]) if at + 1 < len(messages) else []
        answered = [block["tool_use_id"] for block in after if block.get("type") == "tool_result"]
        if missing := [use for use in uses if use not in answered]:
            return refusal(
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
        if strange := [each for each in answered if each not in uses]:
            return refusal(
                f"messages.{at + 1}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {strange[0]}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
    return None


def errors_are_text(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for path, _role, block in _blocks(asked):
        content = block.get("content") if block.get("type") == "tool_result" and block.get("is_error") else None
        if isinstance(content, list) and any(each.get("type") != "text" for each in content):
            return refusal(f"{path}.tool_result: all content must be type `text` if `is_error` is true")
    return None


def signatures_are_known(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    for place in places(asked.body):
        seal = memory.seals.get(mark(place.content))
        if seal is None or without_markers(place.content) != without_markers(seal["block"]):
            return refusal(f"{place.path}: Invalid `signature` in `thinking` block")
    return None


def latest_thinking_is_untouched(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """The latest assistant message, if it has thinking, is the reply as it was issued."""
    found = [(at, message) for at, message in enumerate(asked.body["messages"]) if message["role"] == "assistant"]
    if not found:
        return None
    at, message = found[-1]
    content = without_markers(content_of(message))
    marks = {mark(block) for block in content if block.get("type") in THINKING}
    issued = next((list(each.items) for each in memory.issued if marks & {mark(item) for item in each.items}), None)
    if not marks or issued is None or content == issued:
        return None
    number = next((at for at, pair in enumerate(zip(content, issued, strict=False)) if pair[0] != pair[1]), len(content))
    return refusal(
        f"messages.{at}.content.{number}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response."
    )


def thinking_begins_the_tool_turn(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    """Only with a budget: adaptive thinking takes turns without a thinking block."""
    if _thinks(asked) != "enabled":
        return None
    found = [(at, content_of(message)) for at, message in enumerate(asked.body["messages"]) if message["role"] == "assistant"]
    if not found or not any(block["type"] == "tool_use" for block in found[-1][1]) or found[-1][1][0]["type"] in THINKING:
        return None
    at, content = found[-1]
    return refusal(
        f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{content[0]['type']}`. When `thinking` is "
        "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
        "`tool_result` blocks)."
    )


def bound_thinking(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """On accounts created since 31 August 2026. Blocks of another model are dropped without an error."""
    if not _claude(asked).bound:
        return None
    failing = [
        place for place in misplaced(asked.body, memory) if memory.seals[mark(place.content)]["model"] == asked.body["model"]
    ]
    binding = (asked.body.get("thinking") or {}).get("block_binding") or {}
    if failing and binding.get("prefix_mismatch_behavior") == "drop_block":
        memory.dropped += len(failing)
        return None
    return (
        refusal(
            f"{failing[0].path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, "
            'or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )
        if failing
        else None
    )


_DOCS = "platform.claude.com/docs/en"
_SOURCES: tuple[tuple[Check, str], ...] = (
    (known_version, f"{_DOCS}/api/versioning; anthropic/_constants.py"),
    (known_model, "anthropic/types/model_param.py"),
    (known_members, "anthropic/types/message_create_params.py, beta/message_create_params.py"),
    (no_sampling_in_the_new_version, "apidog.com/blog/claude-api-version-2026-10-21; codersera.com (…even at default values)"),
    (no_sampling_on_new_models, "github/app#2574; expectedparrot/edsl#2458"),
    (thinking_type_of_the_model, f"{_DOCS}/models/opus-5-5/migration-guide; CherryHQ/cherry-studio#15933"),
    (budget_below_max_tokens, "anthropic/types/thinking_config_enabled_param.py; workglow-dev/libs#746"),
    (no_temperature_while_thinking, f"{_DOCS}/build-with-claude/extended-thinking#feature-compatibility; workglow-dev/libs#746"),
    (no_forced_tool, "can1357/oh-my-pi#12939; vercel/ai#21364; anthropics/claude-code#19414"),
    (choice_needs_tools, f"{_DOCS}/agents-and-tools/tool-use/implement-tool-use"),
    (strict_schemas_are_closed, f"{_DOCS}/build-with-claude/structured-outputs#json-schema-limitations"),
    (output_schemas_are_closed, f"{_DOCS}/build-with-claude/structured-outputs#json-schema-limitations"),
    (four_markers, f"{_DOCS}/build-with-claude/prompt-caching"),
    (user_begins, f"{_DOCS}/api/messages"),
    (no_prefill, f"anthropic/types/message_create_params.py (messages); {_DOCS}/api/errors#prefill-not-supported"),
    (text_is_not_empty, "anthropics/claude-code#62150"),
    (
        results_follow_their_calls,
        f"{_DOCS}/agents-and-tools/tool-use/implement-tool-use#handling-tool-use-and-tool-result-content-blocks",
    ),
    (errors_are_text, "vellum-ai/vellum-assistant#18387"),
    (signatures_are_known, "anthropic/types/thinking_block_param.py; UKGovernmentBEIS/inspect_ai#4420"),
    (latest_thinking_is_untouched, "anthropics/claude-code#63284; litellm#23047; NousResearch/hermes-agent#24107"),
    (thinking_begins_the_tool_turn, "openai/openai-agents-python#1704"),
    (bound_thinking, f"{_DOCS}/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation"),
)
RULES = tuple(Rule(check.__name__, source, check) for check, source in _SOURCES)
