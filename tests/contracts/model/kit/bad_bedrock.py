"""For each rule of Bedrock's own a request that breaks it, and the request that is changed for it. What is signed does not change
with it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import quote

from hibernaut.adapters.model.bedrock.signing import headers_of
from hibernaut.adapters.model.provider_settings import ProviderSettings
from hibernaut.adapters.model.wire.provider_client import OutgoingRequest
from tests.contracts.model.kit.bad_requests import CLAUDES as OWN_CLAUDES
from tests.contracts.model.kit.bad_requests import Case, Change, member, taken
from tests.contracts.model.kit.bad_responses import SOL as OWN_SOL
from tests.contracts.model.kit.bad_responses import taken_by_responses
from tests.contracts.model.kit.bedrock import CLAUDES, CONVERSES
from tests.contracts.model.kit.bedrock_openai import PROVIDERS as OPENAIS
from tests.contracts.model.kit.bedrock_rules import REGION, VERSION, as_messages
from tests.contracts.model.kit.compatible import VLLM
from tests.contracts.model.kit.rules import Issued, ServerMemory
from tests.contracts.model.kit.server import Provider
from tests.support.provider_http import Recorded, Wire

OPUS, SONNET, HAIKU = CLAUDES
NOVA, LLAMA, DEEPSEEK = CONVERSES
OSS, SOL = OPENAIS
ADDRESS = "http://127.0.0.1:8000"
SETTINGS = ProviderSettings("bedrock", "bedrock", ADDRESS, region=REGION)


def taken_by_bedrock(provider: Provider) -> Case:
    """A request that Bedrock takes: the second step of a tool loop."""
    if provider in CONVERSES:
        return _of_converse(provider)
    if provider in OPENAIS:
        return _of_openai(provider)
    case = taken(OWN_CLAUDES[CLAUDES.index(provider)])
    body: Wire = {"anthropic_version": VERSION} | {name: value for name, value in case.body.items() if name != "model"}
    case.memory.issued = [Issued(as_messages(signed(provider.model, body)), each.items) for each in case.memory.issued]
    return Case(signed(provider.model, body), case.memory)


def _of_converse(provider: Provider) -> Case:
    use = {"toolUse": {"toolUseId": "tooluse_1", "name": "ring", "input": {}}}
    result = {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "rung"}]}}
    body: Wire = {
        "system": [{"text": "Be kind."}],
        "inferenceConfig": {"maxTokens": 100, "temperature": 1.0},
        "toolConfig": {"tools": [{"toolSpec": {"name": "ring", "inputSchema": {"json": {"type": "object"}}}}]},
        "messages": [
            {"role": "user", "content": [{"text": "Ring."}]},
            {"role": "assistant", "content": [{"text": "I ring."}, use]},
            {"role": "user", "content": [result]},
        ],
    }
    return Case(signed(provider.model, body, operation="converse"), ServerMemory())


def _of_openai(provider: Provider) -> Case:
    case = taken(VLLM) if provider is OSS else taken_by_responses(OWN_SOL)
    path = case.asked.path.replace("/v1/", "/openai/v1/")
    return Case(signed_at(path, case.body | {"model": provider.model}), case.memory)


def signed(model: str, body: Wire, settings: ProviderSettings = SETTINGS, operation: str = "invoke") -> Recorded:
    """The request as the product signs it."""
    return signed_at(f"/model/{quote(model, safe='')}/{operation}", body, settings)


def signed_at(path: str, body: Wire, settings: ProviderSettings = SETTINGS) -> Recorded:
    """A request to this path as the product signs it."""
    raw = json.dumps(body).encode()
    headers = headers_of(settings)(OutgoingRequest("POST", ADDRESS + path, raw))
    return Recorded("POST", path, {"host": "127.0.0.1:8000"} | {name.lower(): each for name, each in headers.items()}, body, raw)


def _by(**fields: str) -> Change:
    """Sign with other settings."""

    def change(case: Case) -> None:
        case.asked.headers |= signed("eu.anthropic.claude-opus-5-5", case.body, replace(SETTINGS, **fields)).headers  # type: ignore[arg-type]

    return change


def _of_model(name: str) -> Change:
    def change(case: Case) -> None:
        case.asked = signed(name, case.body)

    return change


def _image(source: Wire) -> Change:
    return lambda case: case.messages[0].update(content=[{"type": "image", "source": source}])


def _marked_thought(case: Case) -> None:
    case.messages[1]["content"][0]["cache_control"] = {"type": "ephemeral"}


def _block(at: int, **block: object) -> Change:
    """Add a content block to a message."""
    return lambda case: case.messages[at]["content"].append(block)


def _streams(case: Case) -> None:
    case.asked = signed(LLAMA.model, case.body, operation="converse-stream")


CLOSED = '{"type": "object", "properties": {}, "additionalProperties": false}'


def _form(schema: str, kind: str = "json_schema") -> Change:
    return member(outputConfig={"textFormat": {"type": kind, "structure": {"jsonSchema": {"schema": schema}}}})


_CONVERSE: tuple[tuple[Provider, str, Change], ...] = (
    (NOVA, "is_signed", lambda case: case.asked.headers.pop("authorization")),
    (NOVA, "converses", lambda case: setattr(case, "asked", signed("eu.amazon.nova-x", case.body, operation="converse"))),
    (NOVA, "converses", lambda case: setattr(case, "asked", signed(NOVA.model, case.body, operation="invoke"))),
    (NOVA, "members_of_converse", member(modelName="nova")),
    (NOVA, "members_of_converse", member(toolConfig={})),
    (NOVA, "members_of_converse", _block(0, image={"format": "bmp"})),
    (NOVA, "roles_alternate", lambda case: case.messages.pop(0)),
    (NOVA, "roles_alternate", lambda case: case.messages.append({"role": "user", "content": [{"text": "And?"}]})),
    (NOVA, "roles_alternate", lambda case: case.messages.append({"role": "assistant", "content": [{"text": "I"}]})),
    (NOVA, "no_blank_text", _block(0, text=" ")),
    (NOVA, "no_blank_text", lambda case: case.messages[2]["content"][0]["toolResult"].update(content=[{"text": ""}])),
    (NOVA, "tools_are_configured", lambda case: case.body.pop("toolConfig")),
    (NOVA, "results_answer_calls", lambda case: case.messages[2].update(content=[{"text": "And?"}])),
    (NOVA, "results_answer_calls", _block(2, toolResult={"toolUseId": "tooluse_2", "content": [{"text": "x"}]})),
    (DEEPSEEK, "no_reasoning_of_its_own", _block(1, reasoningContent={"reasoningText": {"text": "Hm."}})),
    (DEEPSEEK, "choice_of_the_model", lambda case: case.body["toolConfig"].update(toolChoice={"any": {}})),
    (LLAMA, "tools_are_not_streamed", _streams),
    (DEEPSEEK, "cache_points_of_the_model", lambda case: case.body["system"].append({"cachePoint": {"type": "default"}})),
    (DEEPSEEK, "status_of_the_model", lambda case: case.messages[2]["content"][0]["toolResult"].update(status="error")),
    (NOVA, "form_of_the_model", _form(CLOSED)),
    (DEEPSEEK, "form_is_a_closed_schema", _form('{"type": "object", "properties": {}}')),
    (DEEPSEEK, "form_is_a_closed_schema", _form("{")),
    (DEEPSEEK, "form_is_a_closed_schema", _form(CLOSED, kind="json")),
    (NOVA, "temperature_is_at_most_one", member(inferenceConfig={"temperature": 1.5})),
)  # fmt: skip
BAD_BEDROCK: tuple[tuple[Provider, str, Change], ...] = (
    (OPUS, "is_signed", lambda case: case.asked.headers.pop("authorization")),
    (OPUS, "is_signed", lambda case: setattr(case.asked, "raw", case.asked.raw + b" ")),
    (OPUS, "is_signed", lambda case: setattr(case.asked, "path", case.asked.path.replace("opus", "sonnet"))),
    (OPUS, "is_signed", lambda case: case.asked.headers.update({"x-amz-date": "20200101T000000Z"})),
    (OPUS, "is_signed", _by(region="us-east-1")),
    (OPUS, "is_signed", _by(access_key="testing", key="another")),
    (OPUS, "is_signed", _by(access_key="another", key="testing")),
    (OPUS, "names_a_profile", _of_model("anthropic.claude-opus-5-5")),
    (OPUS, "names_a_profile", _of_model("eu.anthropic.claude-2")),
    (OPUS, "members_of_invocation", member(model="eu.anthropic.claude-opus-5-5")),
    (OPUS, "members_of_invocation", member(stream=True)),
    (OPUS, "members_of_invocation", member(metadata={"user_id": "u"})),
    (OPUS, "members_of_invocation", member(cache_control={"type": "ephemeral"})),
    (OPUS, "members_of_invocation", lambda case: case.body.pop("anthropic_version")),
    (OPUS, "version_of_bedrock", member(anthropic_version="2023-06-01")),
    (OPUS, "known_betas", member(anthropic_beta=["thinking-binding-controls-2026-08-01"])),
    (OPUS, "known_betas", member(anthropic_beta=["interleaved-thinking-2025-05-14"])),
    (HAIKU, "known_betas", member(anthropic_beta=["effort-2025-11-24"])),
    (HAIKU, "known_betas", lambda case: case.asked.headers.update({"anthropic-beta": "interleaved-thinking-2025-05-14"})),
    (OPUS, "images_are_bytes", _image({"type": "url", "url": "https://example.org/a.png"})),
    (OPUS, "thinking_has_no_marker", _marked_thought),
    (OPUS, "no_forced_tool", member(tool_choice={"type": "any"})),
    *_CONVERSE,
    (OSS, "is_signed", lambda case: case.asked.headers.pop("authorization")),
    (OSS, "open_weights", member(model="gpt-oss-120b")),
    (OSS, "members_of_oss", member(thinking={"type": "disabled"})),
    (SOL, "is_signed", _by(region="us-east-1")),
    (SOL, "known_model", member(model="gpt-5.6-sol")),
)  # fmt: skip
