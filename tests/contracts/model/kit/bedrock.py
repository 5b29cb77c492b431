"""Bedrock's runtime as servers of the kit: signed requests, event streams, and the lists of models and inference profiles."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tests.contracts.model.kit.anthropic_messages import AnthropicServer
from tests.contracts.model.kit.anthropic_models import MODELS
from tests.contracts.model.kit.bedrock_rules import CLAUDE_RULES, REGION, as_messages, claude_of, is_signed, refusal
from tests.contracts.model.kit.plays import ModelSpeech
from tests.contracts.model.kit.rules import BrokenRule, ErrorResponse, Rule
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.event_frames import chunk
from tests.support.provider_http import Recorded, Wire

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
        """docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html. A `retry-after` is not promised there."""
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
        for event in super().events(say):
            yield chunk(json.loads(event.decode().partition("data: ")[2]))

    def _frame(self) -> Wire:
        return {**_FRAME, "model": as_messages(self.requests[-1]).body["model"]}


_FRAME: Wire = {"id": "msg_bdrk_1", "type": "message", "role": "assistant", "stop_sequence": None}


def variables(address: str) -> Mapping[str, str]:
    return {"BEDROCK_REGION": REGION, "BEDROCK_BASE_URL": address}


def _claude(model: str, **fields: Any) -> Provider:
    return Provider(f"bedrock-{model}", f"bedrock/eu.anthropic.{model}", ClaudeOnBedrockServer, CLAUDE_RULES, variables, **fields)


CLAUDES = (_claude("claude-opus-5-5"), _claude("claude-sonnet-5"), _claude("claude-haiku-4-5"))
PROVIDERS = CLAUDES
