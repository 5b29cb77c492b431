"""For each rule of the Responses wire a request that breaks it: the second step of a tool loop, and what is changed in it."""

from __future__ import annotations

from copy import deepcopy

from tests.contracts.model.kit.bad_requests import Case, Change, member
from tests.contracts.model.kit.openai_responses import PROVIDERS
from tests.contracts.model.kit.rules import Issued, ServerMemory
from tests.contracts.model.kit.server import Provider
from tests.support.provider_http import Recorded, Wire
from tests.support.responses_server import function_call, message, reasoning

SOL = next(each for each in PROVIDERS if each.model == "gpt-5.6-sol")
_ITEMS = (reasoning("Hm."), message("I ring.", phase="commentary"), function_call("ring", {"x": "a"}, "call_1"))
_BODY: Wire = {
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "tools": [{"type": "function", "name": "ring", "description": "", "parameters": {"type": "object"}, "strict": False}],
    "tool_choice": "auto",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Ring."}]},
        _ITEMS[0],
        {"type": "message", "role": "assistant", "content": "I ring.", "phase": "commentary"},
        {name: value for name, value in _ITEMS[2].items() if name not in ("id", "status")},
        {"type": "function_call_output", "call_id": "call_1", "output": "rung"},
    ],
}


def taken_by_responses(provider: Provider) -> Case:
    """A request that the provider takes."""
    asked = Recorded("POST", "/v1/responses", {}, {"model": provider.model, **deepcopy(_BODY)})
    return Case(asked, ServerMemory([Issued(asked, _ITEMS)], {_ITEMS[0]["encrypted_content"]: _ITEMS[0]}))


def item(at: int, **members: object) -> Change:
    """Set members of an item."""
    return lambda case: case.body["input"][at].update(members)


BAD_RESPONSES: tuple[tuple[Provider, str, Change], ...] = tuple((SOL, name, change) for name, change in (
    ("known_model", member(model="gpt-0")),
    ("known_members", member(frequency_penalty=1)),
    (
        "known_members",
        item(2, content=[{"type": "output_text", "text": "I ring.", "annotations": []}]),
    ),
    ("known_members", lambda case: case.body["tools"][0].pop("strict")),
    ("efforts_of_the_model", lambda case: case.body["reasoning"].update(effort="minimal")),
    ("efforts_of_the_model", member(model="gpt-6.1-sol", reasoning={"effort": "none"})),
    ("efforts_of_the_model", member(model="gpt-4.1")),
    ("no_sampling_while_reasoning", member(temperature=1.0)),
    ("no_sampling_while_reasoning", lambda case: case.body["include"].append("message.output_text.logprobs")),
    ("encrypted_content_of_reasoning_models", lambda case: (case.body.update(model="gpt-4.1"), case.body.pop("reasoning"))),
    ("at_least_16_tokens", member(max_output_tokens=15)),
    ("keys_are_short", member(prompt_cache_key="k" * 65)),
    ("call_ids_are_short", lambda case: [each.update(call_id="c" * 65) for each in case.body["input"][3:]]),
    ("at_most_128_tools", lambda case: case.body.update(tools=case.body["tools"] * 129)),
    ("strict_schemas_are_closed", lambda case: case.body["tools"][0].update(strict=True)),
    ("chosen_tools_exist", member(tool_choice={"type": "function", "name": "tell"})),
    ("chosen_tools_exist", member(tool_choice={"type": "allowed_tools", "mode": "auto", "tools": []})),
    ("chosen_tools_exist", lambda case: case.body.pop("tools")),
    ("item_ids_are_stored", item(3, id=_ITEMS[2]["id"])),
    ("item_ids_are_stored", item(1, encrypted_content=None)),
    ("item_ids_are_stored", member(previous_response_id="resp_1")),
    ("encrypted_content_is_its_items", item(1, id="rs_another")),
    ("encrypted_content_is_its_items", item(1, encrypted_content="gAAAAAnother")),
    ("reasoning_is_followed_by_its_item", lambda case: case.body["input"].pop(2)),
    ("reasoning_is_followed_by_its_item", lambda case: case.body["input"][2].pop("phase")),
    ("each_call_has_its_output", lambda case: case.body["input"].pop(4)),
    ("each_call_has_its_output", lambda case: case.body["input"].pop(3)),
    ("call_ids_are_unique", lambda case: case.body["input"].extend(case.body["input"][3:])),
    (
        "images_are_addresses",
        lambda case: case.body["input"][0]["content"].append({"type": "input_image", "image_url": "AA==", "detail": "auto"}),
    ),
    ("json_is_asked_for", member(text={"format": {"type": "json_object"}})),
))  # fmt: skip
