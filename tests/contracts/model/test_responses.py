"""Requests on OpenAI's Responses wire: what goes back, what is asked for, and what is left out after a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from hibernaut.ports.model import ToolChoice
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageContent
from hibernaut.schemas.errors import (
    ModelBadRequest,
)
from hibernaut.schemas.messages.message import Message
from tests.contracts.model.spoken import Spoken
from tests.support.responses_server import INTERLEAVED, function_call, message, reasoning
from tests.support.rows import MEMORY_INSERT, SEARCH, TEXT, Rows, called, gave, tool

MODEL = "gpt-5.6-sol"
BOTH = (MEMORY_INSERT, SEARCH)


def hello(spoken: Spoken, *more: Message, **fields: Any) -> Any:
    return spoken.request(Rows().user("I live in Oslo"), *more, **{"model": MODEL, "tools": BOTH} | fields)


def after(spoken: Spoken, *items: JsonObject, model: str = MODEL) -> list[JsonObject]:
    """What goes back after a reply of these items, behind the system message and the user's."""
    spoken.server.says(items=items)
    reply = spoken.model.complete(hello(spoken), lambda _: None)
    rows = Rows()
    log = [rows.replied(reply)] + ([rows.tool(*(gave(call.id) for call in reply.tool_calls))] if reply.tool_calls else [])
    sent: list[JsonObject] = spoken.model.payload(hello(spoken, *log, model=model))["input"][2:]
    return sent


# what goes back


def test_a_replys_own_items_go_back_in_their_order(responses: Spoken) -> None:
    sent = after(responses, *INTERLEAVED)
    assert [item["type"] for item in sent] == [
        "reasoning",
        "message",
        "function_call",
        "reasoning",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert (sent[0], sent[3]) == (INTERLEAVED[0], INTERLEAVED[3])
    assert sent[1] == {"type": "message", "role": "assistant", "content": "I note that.", "phase": "commentary"}
    assert [item["call_id"] for item in sent if "call_id" in item] == ["call_a", "call_b", "call_a", "call_b"]


def test_only_reasoning_goes_back_by_its_id(responses: Spoken) -> None:
    """Ids of items that are not stored are looked up and refused (langchain-ai/langchain#38372); encrypted content belongs to its
    id.
    """
    assert [item["type"] for item in after(responses, *INTERLEAVED) if "id" in item] == ["reasoning", "reasoning"]


def test_reasoning_that_is_not_encrypted_stays_away(responses: Spoken) -> None:
    call = function_call("memory_insert", {}, "call_a")
    sent = after(responses, reasoning("Hm.", sealed=False), call)
    assert [item["type"] for item in sent] == ["function_call", "function_call_output"]


def test_another_model_gets_our_form(responses: Spoken) -> None:
    sent = after(responses, *INTERLEAVED, model="gpt-5.4")
    assert [item["type"] for item in sent] == ["message", *["function_call"] * 2, *["function_call_output"] * 2]


def test_reasoning_without_what_it_led_to_stays_away(responses: Spoken) -> None:
    responses.server.says(items=[reasoning("Hm.")], finish_reason="length")
    assert responses.model.complete(hello(responses)).native is None
    responses.server.says(items=[reasoning("Hm."), message("So"), reasoning("Then")], finish_reason="length")
    native = responses.model.complete(hello(responses)).native
    assert native is not None
    assert [item["type"] for item in native.items] == ["reasoning", "message"]


def test_a_call_that_was_cut_off_does_not_go_back(responses: Spoken) -> None:
    responses.server.says(items=[reasoning("Hm."), function_call("memory_insert", '{"label": "hu', "c")], finish_reason="length")
    assert responses.model.complete(hello(responses)).native is None


def test_an_image_of_a_return_goes_back_with_it(responses: Spoken) -> None:
    rows = Rows()
    image = ImageContent(source=Base64Image(media_type="image/png", data="AA=="))
    returned = gave("call_a").model_copy(update={"images": [image]})
    log = [rows.assistant("", called("call_a", "memory_insert")), rows.tool(returned)]
    output = responses.model.payload(hello(responses, *log))["input"][-1]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image"]
    assert output[1] == {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "The encrypted content gAAA...DQ== could not be verified."),
        (404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
        (400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    ],
)
def test_reasoning_that_is_not_accepted_does_not_break_a_conversation(responses: Spoken, status: int, words: str) -> None:
    responses.server.says(items=INTERLEAVED)
    rows = Rows()
    reply = responses.model.complete(hello(responses))
    request = hello(responses, rows.replied(reply), rows.tool(gave("call_a"), gave("call_b")))

    def script(items: list[JsonObject], _: Any) -> JsonObject:
        if any(item["type"] == "reasoning" for item in items):
            return {"status": status, "body": {"error": {"message": words}}}
        return {"content": "On we go."}

    responses.server.script = script
    assert responses.model.complete(request).text == "On we go."
    assert responses.model.payload(request)["input"][2]["type"] == "reasoning", "the next request tries again"


# what is asked for


def test_nothing_is_stored_and_the_reasoning_is_asked_for(responses: Spoken) -> None:
    body = responses.model.payload(hello(responses, user="agent-1", cache_key="k" * 65, config={"reasoning_effort": "high"}))
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["safety_identifier"] == "agent-1"
    assert len(body["prompt_cache_key"]) == 64
    assert not {"temperature", "previous_response_id", "instructions", "user"} & body.keys()
    assert body["input"][0]["role"] == "developer"


@pytest.mark.parametrize(
    ("model", "wanted", "sent"),
    [
        ("o3", "minimal", "low"),
        ("gpt-5-mini", "none", "minimal"),
        ("gpt-5-pro", "low", "high"),
        ("gpt-5.1", "minimal", "none"),
        ("gpt-5.4", "xhigh", "xhigh"),
        ("gpt-5.4-pro", "low", "medium"),
        ("gpt-5.5", "minimal", "none"),
        ("gpt-5.3-codex", "none", "low"),
        ("gpt-6-luna", "none", "none"),
        ("gpt-6.1-terra", "minimal", "none"),
        ("gpt-6.1-sol", "none", "low"),
        ("gpt-6-astra", "minimal", "low"),
        ("gpt-6.2-sol", "none", "low"),
        ("gpt-9", "xhigh", "high"),
        (MODEL, None, None),
    ],
)
def test_an_effort_that_a_model_does_not_take_becomes_the_next_weaker_one(
    responses: Spoken, model: str, wanted: str | None, sent: str | None
) -> None:
    body = responses.model.payload(hello(responses, model=model, config={"reasoning_effort": wanted}))
    assert body["reasoning"].get("effort") == sent


def test_the_effort_of_the_newer_setting_goes_before_the_other(responses: Spoken) -> None:
    body = responses.model.payload(hello(responses, config={"reasoning_effort": "low", "effort": "max"}))
    assert body["reasoning"]["effort"] == "max"


@pytest.mark.parametrize(
    ("model", "effort", "samples"),
    [
        ("gpt-4.1", None, True),
        ("gpt-5.4", "none", True),
        ("gpt-5.4", "low", False),
        ("gpt-6-astra", "none", False),
        ("o3", None, False),
    ],
)
def test_sampling_parameters_are_for_models_that_do_not_reason(
    responses: Spoken, model: str, effort: str | None, samples: bool
) -> None:
    body = responses.model.payload(hello(responses, model=model, config={"reasoning_effort": effort, "temperature": 0.3}))
    assert ("temperature" in body) is samples


@pytest.mark.parametrize(
    ("choice", "allowed", "sent"),
    [
        (ToolChoice("auto"), None, "auto"),
        (ToolChoice("required"), ("memory_insert", "conversation_search"), "required"),
        (ToolChoice("none"), None, "none"),
        (ToolChoice("auto"), (), "none"),
        (ToolChoice("named", "memory_insert"), ("memory_insert",), {"type": "function", "name": "memory_insert"}),
        (
            ToolChoice("required"),
            ("conversation_search",),
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "conversation_search"}]},
        ),
    ],
)
def test_what_may_be_called_is_said_beside_the_tools(
    responses: Spoken, choice: ToolChoice, allowed: tuple[str, ...] | None, sent: Any
) -> None:
    body = responses.model.payload(hello(responses, choice=choice, allowed=allowed))
    assert body["tool_choice"] == sent
    assert [each["name"] for each in body["tools"]] == ["memory_insert", "conversation_search"]


def test_each_tool_says_whether_it_is_strict(responses: Spoken) -> None:
    """Left out it would be true, and one loose schema makes the provider refuse the whole request."""
    tools = (tool("a", required=("x",), strict=True, x=TEXT), tool("b", strict=True, x=TEXT), tool("c", required=("x",), x=TEXT))
    sent = responses.model.payload(hello(responses, tools=tools))["tools"]
    assert [each["strict"] for each in sent] == [True, False, False]
    assert ["additionalProperties" in each["parameters"] for each in sent] == [True, False, False]


def test_more_tools_than_the_provider_takes_are_an_error_before_anything_is_sent(responses: Spoken) -> None:
    with pytest.raises(ModelBadRequest, match="has 129 tools, and OpenAI takes at most 128"):
        responses.model.complete(hello(responses, tools=tuple(tool(f"tool_{number}") for number in range(129))))
    assert responses.server.requests == []


def test_a_format_stands_beside_its_type(responses: Spoken) -> None:
    schema = {"name": "my answer", "schema": {"type": "object"}, "strict": True}
    config = {"response_format": {"type": "json_schema", "json_schema": schema}, "verbosity": "low"}
    assert responses.model.payload(hello(responses, config=config))["text"] == {
        "format": {"type": "json_schema", "name": "my_answer", "schema": {"type": "object"}, "strict": True},
        "verbosity": "low",
    }


def test_a_limit_is_at_least_what_the_wire_takes(responses: Spoken) -> None:
    assert responses.model.payload(hello(responses, config={"max_tokens": 1}))["max_output_tokens"] == 16


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("Your organization must be verified to generate reasoning summaries.", ["reasoning"]),
        ("Unsupported value: 'high' is not supported with the 'gpt-5.6-sol' model. Supported values are: 'low'.", ["reasoning"]),
        ("Encrypted content is not supported with this model.", ["include"]),
        ("Unsupported parameter: 'text.verbosity' is not supported with this model.", ["text"]),
        ("Invalid value: 'allowed_tools'. Supported values are: 'function'.", ["tool_choice"]),
    ],
)
def test_what_a_model_refuses_is_left_out_from_then_on(responses: Spoken, words: str, names: list[str]) -> None:
    request = hello(responses, config={"reasoning_effort": "high", "verbosity": "low"}, allowed=("memory_insert",))
    asked = responses.model.payload(request)
    responses.server.script = lambda *_: (
        {"status": 400, "body": {"error": {"message": words}}} if len(responses.server.requests) == 1 else {"content": "Yes."}
    )
    assert responses.model.complete(request).text == "Yes."
    assert responses.model.complete(request).text == "Yes."
    first, *later = [each.body for each in responses.server.requests]
    assert first == asked
    assert [[name for name in asked if body.get(name) != asked[name]] for body in later] == [names, names]


def test_a_refusal_that_nothing_can_be_left_out_for_is_not_asked_again(responses: Spoken) -> None:
    responses.server.says(
        status=400, body={"error": {"message": "Your organization must be verified to generate reasoning summaries."}}
    )
    with pytest.raises(ModelBadRequest):
        responses.model.complete(hello(responses))
    assert len(responses.server.requests) == 2


def test_models_that_only_this_wire_serves_are_listed(responses: Spoken) -> None:
    names = ["gpt-5.4-pro", "gpt-5.6-cyber", "gpt-6.2-astra", "o3-pro"]
    responses.server.models = [{"id": name} for name in names]
    assert [row.model for row in responses.model.models()] == names
