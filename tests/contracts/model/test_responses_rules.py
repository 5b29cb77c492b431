"""The kit's rules of the Responses wire: each refuses what breaks it, and the adapter breaks none, whatever it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.adapters.model.context_windows import ContextWindows
from hibernaut.adapters.model.openai.responses import ResponsesModel
from hibernaut.adapters.model.openai.responses_models import STRENGTHS
from hibernaut.ports.model import ModelRequest, ToolChoice
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageContent, TextContent
from hibernaut.schemas.llm_config import LLMConfig
from hibernaut.schemas.message import Message
from tests.contracts.model.kit.openai_responses import PROVIDERS, ResponsesServer
from tests.contracts.model.kit.plays import ModelSpeech, Speak, Think, ToolUse
from tests.contracts.model.kit.responses_rules import MODELS, RESPONSES_RULES
from tests.contracts.model.kit.rules import Issued, ServerMemory, first_broken
from tests.support.provider_http import Recorded
from tests.support.responses_server import function_call, message, reasoning
from tests.support.rows import TEXT, Rows, gave, tool

ITEMS = (reasoning("Hm."), message("I ring.", phase="commentary"), function_call("ring", {"x": "a"}, "call_1"))
SOUND: JsonObject = {
    "model": "gpt-5.6-sol",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "tools": [{"type": "function", "name": "ring", "description": "", "parameters": {"type": "object"}, "strict": False}],
    "tool_choice": "auto",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello."}]},
        ITEMS[0],
        {"type": "message", "role": "assistant", "content": "I ring.", "phase": "commentary"},
        {name: value for name, value in ITEMS[2].items() if name not in ("id", "status")},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
    ],
}


def memory() -> ServerMemory:
    seals = {ITEMS[0]["encrypted_content"]: ITEMS[0]}
    return ServerMemory(issued=[Issued(Recorded("POST", "/v1/responses", {}), ITEMS)], seals=seals)


def broken_by(change: Callable[[Any], object]) -> str | None:
    body = deepcopy(SOUND)
    change(body)
    broken = first_broken(RESPONSES_RULES, Recorded("POST", "/v1/responses", {}, body), memory())
    return broken.rule.name if broken else None


BREACHES: list[tuple[str, Callable[[Any], object]]] = [
    ("known_model", lambda body: body.update(model="gpt-0")),
    ("known_members", lambda body: body.update(frequency_penalty=1)),
    (
        "known_members",
        lambda body: body["input"][2].update(content=[{"type": "output_text", "text": "I ring.", "annotations": []}]),
    ),
    ("known_members", lambda body: body["tools"][0].pop("strict")),
    ("efforts_of_the_model", lambda body: body["reasoning"].update(effort="minimal")),
    ("efforts_of_the_model", lambda body: body.update(model="gpt-6.1-sol", reasoning={"effort": "none"})),
    ("efforts_of_the_model", lambda body: body.update(model="gpt-4.1")),
    ("no_sampling_while_reasoning", lambda body: body.update(temperature=1.0)),
    ("no_sampling_while_reasoning", lambda body: body["include"].append("message.output_text.logprobs")),
    ("encrypted_content_of_reasoning_models", lambda body: (body.update(model="gpt-4.1"), body.pop("reasoning"))),
    ("at_least_16_tokens", lambda body: body.update(max_output_tokens=15)),
    ("keys_are_short", lambda body: body.update(prompt_cache_key="k" * 65)),
    ("call_ids_are_short", lambda body: [item.update(call_id="c" * 65) for item in body["input"][3:]]),
    ("at_most_128_tools", lambda body: body.update(tools=body["tools"] * 129)),
    ("strict_schemas_are_closed", lambda body: body["tools"][0].update(strict=True)),
    ("chosen_tools_exist", lambda body: body.update(tool_choice={"type": "function", "name": "tell"})),
    ("chosen_tools_exist", lambda body: body.update(tool_choice={"type": "allowed_tools", "mode": "auto", "tools": []})),
    ("chosen_tools_exist", lambda body: body.pop("tools")),
    ("item_ids_are_stored", lambda body: body["input"][3].update(id=ITEMS[2]["id"])),
    ("item_ids_are_stored", lambda body: body["input"][1].update(encrypted_content=None)),
    ("item_ids_are_stored", lambda body: body.update(previous_response_id="resp_1")),
    ("encrypted_content_is_its_items", lambda body: body["input"][1].update(id="rs_another")),
    ("encrypted_content_is_its_items", lambda body: body["input"][1].update(encrypted_content="gAAAAAnother")),
    ("reasoning_is_followed_by_its_item", lambda body: body["input"].pop(2)),
    ("reasoning_is_followed_by_its_item", lambda body: body["input"][2].pop("phase")),
    ("each_call_has_its_output", lambda body: body["input"].pop(4)),
    ("each_call_has_its_output", lambda body: body["input"].pop(3)),
    ("call_ids_are_unique", lambda body: body["input"].extend(body["input"][3:])),
    (
        "images_are_addresses",
        lambda body: body["input"][0]["content"].append({"type": "input_image", "image_url": "AA==", "detail": "auto"}),
    ),
    ("json_is_asked_for", lambda body: body.update(text={"format": {"type": "json_object"}})),
]


@pytest.mark.parametrize(("rule", "change"), BREACHES)
def test_a_rule_refuses_what_breaks_it(rule: str, change: Callable[[Any], object]) -> None:
    assert broken_by(change) == rule


def test_a_sound_request_breaks_none() -> None:
    assert broken_by(deepcopy) is None


def test_every_rule_is_broken_once() -> None:
    assert {rule for rule, _ in BREACHES} == {rule.name for rule in RESPONSES_RULES}


TOOLS = (
    tool("ring", required=("x",), strict=True, x=TEXT),
    tool("tell", strict=True, x=TEXT),
    tool("look", x={"anyOf": [TEXT, {"description": "anything"}]}),
)
WORDS = st.text(alphabet='ab \n"{é\U0001f600', min_size=1, max_size=8)
SPEECHES = st.builds(
    lambda parts, last: ModelSpeech((*parts, last)),
    st.lists(st.one_of(st.builds(Think, WORDS), st.builds(Speak, WORDS), st.just(ToolUse("ring", {"x": "a"}))), max_size=4),
    st.one_of(st.builds(Speak, WORDS), st.builds(lambda x: ToolUse("tell", {"x": x}), WORDS)),
)
STEPS = st.lists(
    st.tuples(SPEECHES, st.sampled_from(sorted(MODELS)), st.sampled_from([None, *STRENGTHS]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=5,
)
CHOICES = st.sampled_from(
    [
        (ToolChoice("auto"), None),
        (ToolChoice("required"), ("tell", "ring")),
        (ToolChoice("named", "look"), ("look",)),
        (ToolChoice("auto"), ()),
        (ToolChoice("none"), None),
    ]
)


@pytest.fixture(scope="module")
def server() -> Iterator[ResponsesServer]:
    with ResponsesServer(PROVIDERS[0]) as made:
        yield made


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, choices=st.lists(CHOICES, min_size=5, max_size=5), pictured=st.booleans())
def test_no_request_breaks_a_rule(server: ResponsesServer, steps: list[Any], choices: list[Any], pictured: bool) -> None:
    """A conversation whose model, effort and tools change at any step, streamed or not, and whose calls return images or text."""
    model = ResponsesModel(api_key="k", base_url=server.url, windows=ContextWindows())
    rows, log = Rows(), list[Message]()
    image = ImageContent(source=Base64Image(media_type="image/png", data="AA==", detail="odd"))
    for (speech, name, effort, streams, speaks), (choice, allowed) in zip(steps, choices, strict=False):
        if speaks or not log:
            log.append(rows.user([TextContent(text="Go on."), *([image] if pictured else [])]))
        config = LLMConfig(
            model=name,
            model_endpoint_type="openai",
            context_window=1000,
            reasoning_effort=effort if effort != "max" else None,
            effort=effort if effort == "max" else None,
            return_logprobs=True,
            verbosity="low",
            max_tokens=3,
        )
        server.plays(speech)
        request = ModelRequest(
            config,
            "Be kind.",
            [*log],
            TOOLS,
            choice,
            parallel_tool_calls=True,
            user="agent-1",
            allowed=allowed,
            cache_key="c" * 70,
        )
        reply = model.complete(request, (lambda _: None) if streams else None)
        log.append(rows.replied(reply))
        if reply.tool_calls:
            returned = [gave(call.id).model_copy(update={"images": [image] if pictured else []}) for call in reply.tool_calls]
            log.append(rows.tool(*returned))
    assert not server.broken, json.dumps([str(each) for each in server.broken])
