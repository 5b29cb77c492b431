"""Bedrock's runtime as servers of the kit: signed requests, event streams, and the lists of models and inference profiles."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tests.contracts.model.kit.anthropic_messages import BYTES_PER_TOKEN, AnthropicServer
from tests.contracts.model.kit.anthropic_models import MODELS
from tests.contracts.model.kit.bedrock_rules import CLAUDE_RULES, REGION, as_messages, claude_of, is_signed, model_of, refusal
from tests.contracts.model.kit.converse_rules import CONVERSE_RULES, DEEPSEEK, LLAMA, NOVA
from tests.contracts.model.kit.plays import ModelSpeech, Speak, Think, ToolUse
from tests.contracts.model.kit.rules import BrokenRule, ErrorResponse, Rule
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.event_frames import chunk, event
from tests.support.provider_http import Recorded, Wire, pieces

ARN = f"arn:aws:bedrock:{REGION}"
NO_CREDIT = (
    "Model access is denied due to INVALID_PAYMENT_INSTRUMENT:A valid payment instrument must be provided.. Your AWS Marketplace "
    "subscription for this model cannot be completed at this time."
)


class BedrockServer(KitServer):
    """What Bedrock's wires share. `profiles` are the inference profiles by id, each with its model; `on_demand` other models."""

    stream_type = "application/vnd.amazon.eventstream"
    profiles: ClassVar[Mapping[str, str]] = {}
    on_demand: ClassVar[Sequence[str]] = ()

    @property
    def chat_models(self) -> list[str]:
        return [*self.profiles, *self.on_demand]

    def serves(self, path: str) -> bool:
        return path.startswith("/model/")

    def streams(self, asked: Recorded) -> bool:
        return asked.path.endswith("-stream") and not self.ignores_streams

    def listed(self, asked: Recorded) -> Wire:
        """The control plane: it is asked at the same address, because the address is not AWS's own."""
        if said := is_signed(asked, self.memory):
            self.broken.append(BrokenRule(Rule("is_signed", "the control plane", is_signed), said))
            return said.wire()
        body = self._profiles() if asked.path.startswith("/inference-profiles?") else self._models()
        return {"raw": json.dumps(body).encode()}

    def _models(self) -> Wire:
        """FoundationModelSummary (botocore, `bedrock`): among them models for other uses."""
        kinds = {name: [] for name in self.profiles.values()} | {name: ["ON_DEMAND"] for name in self.on_demand}
        rows = [_summary(name, kind) for name, kind in kinds.items()]
        return {
            "modelSummaries": [*rows, _summary("cohere.rerank-v3-5:0", ["ON_DEMAND"]), _summary("old.model-v1", ["PROVISIONED"])]
        }

    def _profiles(self) -> Wire:
        """InferenceProfileSummary (botocore, `bedrock`): one ARN for each region that a profile routes to."""
        rows = [
            {
                "inferenceProfileId": profile,
                "inferenceProfileName": profile,
                "inferenceProfileArn": f"{ARN}:123456789012:inference-profile/{profile}",
                "models": [
                    {"modelArn": f"arn:aws:bedrock:{region}::foundation-model/{model}"} for region in (REGION, "eu-west-1")
                ],
                "status": "ACTIVE",
                "type": "SYSTEM_DEFINED",
            }
            for profile, model in {**self.profiles, "eu.twelvelabs.pegasus-1-2-v1:0": "twelvelabs.pegasus-1-2-v1:0"}.items()
        ]
        return {"inferenceProfileSummaries": rows}

    def fault(self, kind: str) -> ErrorResponse:
        """docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html. A `retry-after` is not promised
        there.
        """
        match kind:
            case "too_long":
                return refusal("Input is too long for requested model.")
            case "rate_limit":
                said = refusal("Too many tokens, please wait before trying again.", 429, "ThrottlingException")
                return ErrorResponse(said.status, said.body, {**said.headers, "retry-after": "7"})
            case "wrong_key":
                return refusal("The security token included in the request is invalid.", 403, "UnrecognizedClientException")
            case "no_credit":
                return refusal(NO_CREDIT, 403, "AccessDeniedException")
            case "image":
                return refusal("The model returned the following errors: Could not process image")
            case "gone":
                return refusal("This model version has reached the end of its life.", 404, "ResourceNotFoundException")
            case _:
                return refusal("Bedrock is unable to process your request.", 503, "ServiceUnavailableException")


def _summary(name: str, kinds: Sequence[str]) -> Wire:
    return {
        "modelId": name,
        "modelArn": f"{ARN}::foundation-model/{name}",
        "modelName": name,
        "providerName": name.partition(".")[0],
        "inputModalities": ["TEXT", "IMAGE"],
        "outputModalities": ["TEXT"],
        "responseStreamingSupported": True,
        "inferenceTypesSupported": list(kinds),
        "modelLifecycle": {"status": "ACTIVE"},
    }


class ClaudeOnBedrockServer(BedrockServer, AnthropicServer):
    """Claude by InvokeModel: the replies of Anthropic's server in Bedrock's frames."""

    profiles: ClassVar[Mapping[str, str]] = {f"eu.anthropic.{name}": f"anthropic.{name}" for name in MODELS}

    @property
    def stops_thinking(self) -> bool:  # type: ignore[override]
        return "disabled" in MODELS[claude_of(self.provider.model)].types

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        return super().items(play, as_messages(asked))

    def events(self, say: Wire) -> Iterator[bytes]:
        for sent in super().events(say):
            yield chunk(json.loads(sent.decode().partition("data: ")[2]))

    def _frame(self) -> Wire:
        return {**_FRAME, "model": as_messages(self.requests[-1]).body["model"]}


_FRAME: Wire = {"id": "msg_bdrk_1", "type": "message", "role": "assistant", "stop_sequence": None}


def variables(address: str) -> Mapping[str, str]:
    return {"BEDROCK_REGION": REGION, "BEDROCK_BASE_URL": address}


def _claude(model: str, **fields: Any) -> Provider:
    return Provider(f"bedrock-{model}", f"bedrock/eu.anthropic.{model}", ClaudeOnBedrockServer, CLAUDE_RULES, variables, **fields)


class ConverseServer(BedrockServer):
    """The models that are asked by Converse. `think`s: DeepSeek shows its reasoning."""

    profiles: ClassVar[Mapping[str, str]] = {name: name.partition(".")[2] for name in (NOVA, LLAMA)}
    on_demand: ClassVar[Sequence[str]] = (DEEPSEEK,)

    def answer(self, asked: Recorded) -> Wire:
        """A reply that is cut off is so too where it does not stream."""
        said = super().answer(asked)
        return said | {"cut": True} if "cut_at" in said and not self.streams(asked) else said

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        blocks: list[Wire] = []
        for part in play.parts:
            match part:
                case Think(text) if model_of(asked) == DEEPSEEK:
                    blocks.append({"reasoningContent": {"reasoningText": {"text": text}}})
                case Speak(text):
                    blocks.append({"text": text})
                case ToolUse(name, arguments):
                    use = {"toolUseId": self.new_id("tooluse_"), "name": name, "input": dict(arguments)}
                    blocks.append({"toolUse": use})
        return blocks

    def ending(self, play: ModelSpeech, items: Sequence[Wire]) -> Wire:
        if play.refused:
            return {"finish_reason": "content_filtered"}
        return {"finish_reason": "tool_use" if any("toolUse" in item for item in items) else "end_turn"}

    def used(self, whole: int, cached: int, play: ModelSpeech) -> Wire:
        del play
        fresh, known = (whole - cached) // BYTES_PER_TOKEN, cached // BYTES_PER_TOKEN
        counts = {"inputTokens": fresh, "outputTokens": 20, "cacheReadInputTokens": known, "cacheWriteInputTokens": 0}
        return counts | {"totalTokens": fresh + known + 20}

    def prompt(self, asked: Recorded) -> bytes:
        """Tools, then system, then messages (docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html)."""
        return json.dumps(
            [asked.body.get("toolConfig", {}).get("tools"), asked.body.get("system"), asked.body["messages"]]
        ).encode()

    def whole(self, say: Wire) -> Wire:
        message = {"role": "assistant", "content": list(say["items"])}
        return {
            "output": {"message": message},
            "stopReason": say["finish_reason"],
            "usage": say["usage"],
            "metrics": {"latencyMs": 1},
        }

    def events(self, say: Wire) -> Iterator[bytes]:
        yield event("messageStart", {"role": "assistant"})
        for index, block in enumerate(say["items"]):
            place = {"contentBlockIndex": index}
            if use := block.get("toolUse"):
                yield event(
                    "contentBlockStart", {"start": {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}} | place
                )
            for delta in _deltas(block):
                yield event("contentBlockDelta", {"delta": delta, "p": "abc"} | place)
            yield event("contentBlockStop", place)
        yield event("messageStop", {"stopReason": say["finish_reason"]})
        yield event("metadata", {"usage": say["usage"], "metrics": {"latencyMs": 1}})


def _deltas(block: Wire) -> Iterator[Wire]:
    if "text" in block:
        yield from ({"text": piece} for piece in pieces(block["text"]))
    elif use := block.get("toolUse"):
        yield from ({"toolUse": {"input": piece}} for piece in pieces(json.dumps(use["input"])))
    else:
        yield from ({"reasoningContent": {"text": piece}} for piece in pieces(block["reasoningContent"]["reasoningText"]["text"]))


def _converse(name: str, model: str, **fields: Any) -> Provider:
    return Provider(f"bedrock-{name}", f"bedrock/{model}", ConverseServer, CONVERSE_RULES, variables, **fields)


CONVERSES = (
    _converse("nova", NOVA, thinks=False),
    _converse("llama", LLAMA, thinks=False),
    _converse("deepseek", DEEPSEEK),
)
CLAUDES = (_claude("claude-opus-5-5"), _claude("claude-sonnet-5"), _claude("claude-haiku-4-5"))
PROVIDERS = (*CLAUDES, *CONVERSES)
