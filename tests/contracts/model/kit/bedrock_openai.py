"""OpenAI's APIs at Bedrock's runtime as servers of the kit: signed, with ids of Bedrock, and with the lists of the control
plane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from tests.contracts.model.kit.bedrock import BedrockServer, variables
from tests.contracts.model.kit.bedrock_rules import SHARED, refusal
from tests.contracts.model.kit.chat_rules import CHAT_RULES
from tests.contracts.model.kit.chat_server import ChatServer, Traits
from tests.contracts.model.kit.openai_responses import ResponsesServer
from tests.contracts.model.kit.plays import ModelSpeech
from tests.contracts.model.kit.responses_rules import MODELS, RESPONSES_RULES
from tests.contracts.model.kit.rules import ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.provider_http import Recorded, ScriptedServer, Wire

OSS, SOL = "openai.gpt-oss-120b-1:0", "global.openai.gpt-5.6-sol"
MEMBERS = frozenset(
    [
        "messages",
        "model",
        "store",
        "reasoning_effort",
        "metadata",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "modalities",
        "prediction",
        "audio",
        "presence_penalty",
        "response_format",
        "seed",
        "service_tier",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "user",
        "function_call",
        "functions",
    ]
)
"""What the server names in its refusal of another member (BerriAI/litellm#13959)."""


def members_of_oss(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    strange = sorted(set(asked.body) - MEMBERS)
    text = "The model returned the following errors: Failed to deserialize the JSON body into the target type: unknown field"
    return refusal(f"{text} {strange[0]}") if strange else None


def open_weights(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    return None if asked.body.get("model") == OSS else refusal("The provided model identifier is invalid.")


def as_openai(asked: Recorded) -> Recorded:
    """The request as OpenAI's own API would see it: the model without region and vendor."""
    model = str(asked.body.get("model"))
    return replace(asked, body=asked.body | {"model": model.rpartition("openai.")[2] if "openai." in model else "unknown"})


def _of_openai(rule: Rule) -> Rule:
    return Rule(rule.name, rule.source, lambda asked, memory: rule.check(as_openai(asked), memory))


_SIGNED = tuple(Rule(check.__name__, source, check) for check, source in SHARED)
OSS_RULES = (
    *_SIGNED,
    Rule("open_weights", "docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html", open_weights),
    Rule("members_of_oss", "BerriAI/litellm#13959", members_of_oss),
    *CHAT_RULES,
)
SOL_RULES = (*_SIGNED, *(_of_openai(rule) for rule in RESPONSES_RULES))


class ChatOnBedrockServer(BedrockServer, ChatServer):
    """Chat Completions of gpt-oss, whose reasoning stands in the text (langchain-ai/langchain-aws#581)."""

    prefix = "/openai/v1"
    stream_type = "text/event-stream"
    traits = Traits(thoughts="<reasoning>")
    on_demand: ClassVar[Sequence[str]] = (OSS,)

    def serves(self, path: str) -> bool:
        return ScriptedServer.serves(self, path)

    def streams(self, asked: Recorded) -> bool:
        return KitServer.streams(self, asked)


class ResponsesOnBedrockServer(BedrockServer, ResponsesServer):
    """Responses of OpenAI's models."""

    prefix = "/openai/v1"
    stream_type = "text/event-stream"
    profiles: ClassVar[Mapping[str, str]] = {f"global.openai.{name}": f"openai.{name}" for name in MODELS}

    def serves(self, path: str) -> bool:
        return ScriptedServer.serves(self, path)

    def streams(self, asked: Recorded) -> bool:
        return KitServer.streams(self, asked)

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        return super().items(play, as_openai(asked))


PROVIDERS = (
    Provider("bedrock-gpt-oss", f"bedrock/{OSS}", ChatOnBedrockServer, OSS_RULES, variables),
    Provider("bedrock-gpt-5.6-sol", f"bedrock/{SOL}", ResponsesOnBedrockServer, SOL_RULES, variables),
)
