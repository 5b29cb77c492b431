"""The documented rules of Bedrock's runtime, each with its source: what all its wires share, and what InvokeModel takes of
Claude.

Claude's own rules hold there too: the request is read as Anthropic's API would see it, and the refusal is put into Bedrock's
form.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from tests.contracts.model.kit import anthropic_rules
from tests.contracts.model.kit.anthropic_binding import content_of
from tests.contracts.model.kit.anthropic_models import MODELS, OLD
from tests.contracts.model.kit.rules import Check, ErrorResponse, Rule, ServerMemory
from tests.support.provider_http import Recorded, Wire
from tests.support.sigv4 import unsigned

REGION = "eu-central-1"
VERSION = "bedrock-2023-05-31"
BETAS = frozenset({"interleaved-thinking-2025-05-14"})
MEMBERS = frozenset(
    {
        "anthropic_version",
        "anthropic_beta",
        "max_tokens",
        "system",
        "messages",
        "temperature",
        "top_p",
        "top_k",
        "tools",
        "tool_choice",
    }
) | {"stop_sequences", "thinking", "output_config"}
"""docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html,
…/claude-messages-adaptive-thinking.html
"""
_DOCS = "docs.aws.amazon.com/bedrock/latest"


def refusal(message: str, status: int = 400, kind: str = "ValidationException") -> ErrorResponse:
    """The form of all errors: `rest-json`, the kind in a header (botocore, `bedrock-runtime`)."""
    return ErrorResponse(
        status, {"message": message}, {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/", "x-amzn-requestid": "r-1"}
    )


def model_of(asked: Recorded) -> str:
    """The model that the path names."""
    parts = asked.path.split("/")
    return unquote(parts[2]) if len(parts) == 4 else ""


def claude_of(model: str) -> str:
    """The name of Anthropic's own for an id or an inference profile, like `eu.anthropic.claude-haiku-4-5-20251001-v1:0`."""
    name = model.partition("anthropic.")[2]
    return next((known for known in MODELS if name == known or name.startswith(f"{known}-20")), name)


def as_messages(asked: Recorded) -> Recorded:
    """The request as Anthropic's API would see it."""
    body = {name: value for name, value in asked.body.items() if name not in ("anthropic_version", "anthropic_beta")}
    headers = {"anthropic-version": OLD, "anthropic-beta": ",".join(asked.body.get("anthropic_beta") or ())}
    return Recorded(asked.method, "/v1/messages", headers, body | {"model": claude_of(model_of(asked))})


def is_signed(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    key, secret = memory.account or (os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    wrong = unsigned(asked, key=key, secret=secret, region=REGION, service="bedrock")
    return refusal(wrong, 403, "InvalidSignatureException") if wrong else None


def names_a_profile(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    model = model_of(asked)
    if claude_of(model) not in MODELS:
        return refusal("The provided model identifier is invalid.")
    if model.startswith("anthropic."):
        text = f"Invocation of model ID {model} with on-demand throughput isn’t supported."
        return refusal(f"{text} Retry your request with the ID or ARN of an inference profile that contains this model.")
    return None


def members_of_invocation(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    """Among the refused are `model`, `stream`, `metadata`, and a `cache_control` of the whole body."""
    if strange := sorted(set(asked.body) - MEMBERS):
        return refusal(f"{strange[0]}: Extra inputs are not permitted")
    if missing := sorted({"anthropic_version", "max_tokens", "messages"} - set(asked.body)):
        return refusal(f"{missing[0]}: Field required")
    return None


def version_of_bedrock(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    return None if asked.body["anthropic_version"] == VERSION else refusal("Invalid API version")


def known_betas(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    betas = asked.body.get("anthropic_beta", [])
    if not isinstance(betas, list) or "anthropic-beta" in asked.headers:
        return refusal("anthropic_beta: Input should be a valid list")
    adaptive = "enabled" not in MODELS[claude_of(model_of(asked))].types
    return refusal("invalid beta flag") if set(betas) - (frozenset() if adaptive else BETAS) else None


def _blocks(value: Any) -> Iterator[Wire]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _blocks(each)
    elif isinstance(value, list):
        for each in value:
            yield from _blocks(each)


def images_are_bytes(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    sources = [each.get("source") or {} for each in _blocks(asked.body["messages"]) if each.get("type") == "image"]
    return refusal("messages: URL sources are not supported") if any(each.get("type") != "base64" for each in sources) else None


def thinking_has_no_marker(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    blocks = [block for message in asked.body["messages"] for block in content_of(message)]
    marked = [block for block in blocks if "thinking" in str(block.get("type")) and "cache_control" in block]
    return refusal("thinking.cache_control: Extra inputs are not permitted") if marked else None


def _of_anthropic(rule: Rule) -> Rule:
    def check(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
        said = rule.check(as_messages(asked), memory)
        return refusal(said.body["error"]["message"], said.status) if said else None

    return Rule(rule.name, rule.source, check)


SHARED: tuple[tuple[Check, str], ...] = (
    (
        is_signed,
        f"{_DOCS}/APIReference/CommonErrors.html; docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html",
    ),
)
_SOURCES: tuple[tuple[Check, str], ...] = (
    *SHARED,
    (names_a_profile, f"{_DOCS}/userguide/inference-profiles-use.html; aws-samples/bedrock-claude-chat#634"),
    (
        members_of_invocation,
        f"{_DOCS}/userguide/model-parameters-anthropic-claude-messages-request-response.html; BerriAI/litellm#26320; UKGovernmentBEIS/inspect_ai#3851",
    ),
    (version_of_bedrock, f"{_DOCS}/userguide/model-parameters-anthropic-claude-messages-request-response.html"),
    (known_betas, "anthropics/claude-code#49370, #49490"),
    (images_are_bytes, "platform.claude.com/docs/en/build-with-claude/vision (image sources by platform)"),
    (thinking_has_no_marker, "platform.claude.com/docs/en/build-with-claude/prompt-caching (what cannot be cached)"),
)
_REPLACED = frozenset({"known_version", "known_model", "known_members", "no_sampling_in_the_new_version"})
CLAUDE_RULES = (
    *(Rule(check.__name__, source, check) for check, source in _SOURCES),
    *(_of_anthropic(rule) for rule in anthropic_rules.RULES if rule.name not in _REPLACED),
)
