"""What users set, what servers list and count, and what stays cached."""

from __future__ import annotations

import json
from typing import Any

from tests.contracts.model.kit.plays import TALE, Think, ToolUse, reply, ring
from tests.contracts.model.kit.server import at
from tests.contracts.model.kit.stage import Stage

TOO_WIDE = 9_999_999
WARM = 0.85
"""The share of a request that is cached though memory was edited before it."""
LOOSE_SCHEMAS: dict[str, Any] = {
    "optional": {"type": "object", "properties": {"x": {"type": "string"}}, "required": []},
    "open_union": {
        "type": "object",
        "properties": {"x": {"anyOf": [{"type": "string"}, {"description": "anything"}]}},
        "required": ["x"],
    },
    "union_of_objects": {
        "type": "object",
        "properties": {
            "x": {"anyOf": [{"type": "object", "properties": {"y": {"type": "string"}}, "required": []}, {"type": "null"}]}
        },
        "required": ["x"],
    },
    "several_types": {
        "type": "object",
        "properties": {"x": {"type": ["object", "null"], "properties": {"y": {"type": "string"}}, "required": []}},
        "required": ["x"],
    },
    "reference": {
        "type": "object",
        "$defs": {"Bell": {"type": "object", "properties": {"tone": {"type": "string"}}, "required": []}},
        "properties": {"x": {"$ref": "#/$defs/Bell"}},
        "required": ["x"],
    },
    "open_map": {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": True}}, "required": ["x"]},
    "all_of": {"type": "object", "properties": {"x": {"allOf": [{"type": "string"}]}}, "required": ["x"]},
    "both": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "anyOf": [{"type": "object"}]},
}


def sampling(stage: Stage) -> None:
    """A temperature that the user chose, with reasoning off: sent where the model takes it, left out elsewhere."""
    off = {"thinking": {"type": "disabled"}} if stage.settings_type == "anthropic" else {}
    stage.agent(model_settings={"provider_type": stage.settings_type, "temperature": 0.3} | off)
    stage.says("Hello Ann.")
    stage.goes_on()


def reasoning_off(stage: Stage) -> None:
    """An agent whose user switched reasoning off, and that must call a tool first; then the user switches it on."""
    stage.agent(enable_reasoner=False, tool_rules=[{"type": "run_first", "tool_name": "ring"}])
    stage.plays(reply(Think("I must not think."), ring()), reply(Think("Really not."), "Rung."))
    stage.ends_well(stage.send("Go."), "Rung.")
    if stage.server.stops_thinking:
        assert not [part for row in stage.engine.log() for part in row.content if part.type == "reasoning"]
    stage.engine.change_agent(reasoning=True)
    stage.goes_on()
    assert at(stage.server.requests[-1].body, "thinking", "type") != "disabled"


def reasoning_by_default(stage: Stage) -> None:
    """A new agent, of whose model nobody has said that it must not reason: no request says so."""
    stage.agent()
    stage.plays(reply(Think("I ring."), ring()), reply(Think("It rang."), "Rung."))
    stage.ends_well(stage.send("Ring."), "Rung.")
    bodies = [request.body for request in stage.server.requests]
    assert {at(body, "thinking", "type") for body in bodies}.isdisjoint({"disabled"})
    assert {at(body, "reasoning", "enabled") for body in bodies}.isdisjoint({False})


def answer_in_a_form(stage: Stage) -> None:
    """A single question whose answer has a schema: asked with what the model takes, and read from a call or from the text."""
    stage.agent()
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    for said in (ToolUse("structured_output", {"sum": 4}), '{"sum": 4}', '```json\n{"sum": 4}\n```'):
        stage.plays(reply(Think("Four."), said))
        assert json.loads(stage.engine.generate("Two and two?", schema)) == {"sum": 4}
    stage.check_rules()


def formed_replies(stage: Stage) -> None:
    """An agent whose replies are JSON, with a schema (closed and strict, or as people write it) and without one: asked for where
    the model takes the form, else refused before anything is sent.
    """
    people: dict[str, Any] = {
        "type": "object",
        "properties": {"at": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}},
        "required": ["at"],
    }
    place = people["properties"]["at"] | {"additionalProperties": False}
    closed = people | {"properties": {"at": place}, "additionalProperties": False}
    stage.agent()
    schemas = ({"name": "place", "schema": closed, "strict": True}, {"name": "place", "schema": people})
    forms: list[dict[str, Any]] = [{"type": "json_schema", "json_schema": schema} for schema in schemas]
    for number, form in enumerate([*forms, {"type": "json_object"}]):
        stage.engine.change_agent(response_format=form)
        asked = len(stage.server.requests)
        stage.plays(reply(Think("Oslo."), f'{{"at": {{"town": "Oslo {number}"}}}}'))
        run = stage.send("Where am I? Answer in JSON.")
        if len(stage.server.requests) > asked:
            stage.ends_well(run, f'{{"at": {{"town": "Oslo {number}"}}}}')
        else:
            assert run.stop_reason == "llm_api_error"
            assert run.error is not None
            assert "response_format" in run.error.message
            stage.server.forget()
    stage.engine.change_agent(response_format={"type": "text"})
    stage.goes_on()


def log_probabilities(stage: Stage) -> None:
    """A request for log probabilities: asked for where the model gives them, else refused before anything is sent."""
    stage.agent(enable_reasoner=False)
    stage.plays(reply(Think("Hm."), "Hello Ann."))
    run = stage.send("Hello.", return_logprobs=True, top_logprobs=2)
    if stage.server.requests:
        stage.ends_well(run, "Hello Ann.")
    else:
        assert run.stop_reason == "llm_api_error"
        stage.server.forget()
    stage.goes_on()


def strict_schemas(stage: Stage) -> None:
    """Strict tools are asked for, and some schemas cannot be strict: these are sent loose, and the request is taken."""
    settings = {"provider_type": stage.settings_type, "temperature": 1.0, "strict": True}
    stage.agent(tools=("ring",), model_settings=settings, schemas=LOOSE_SCHEMAS)
    stage.says("Hello Ann.")


def many_tools(stage: Stage) -> None:
    """More tools than some providers take: there the run fails before anything is sent, and goes on with fewer tools."""
    stage.agent(tools=("ring", *(f"tool_{number}" for number in range(140))))
    if stage.server.most_tools is not None:
        assert stage.send().stop_reason == "llm_api_error"
        assert stage.server.requests == []
        stage.engine.change_agent(tool_ids=[])
    stage.says("Hello Ann.")


def listed_models(stage: Stage) -> None:
    """Every chat model that the server lists is offered, whatever its name and the form of the list."""
    offered = {row.handle for row in stage.engine.models.list()}
    prefix = stage.provider.handle.removesuffix(stage.provider.model)
    assert {prefix + model for model in stage.server.chat_models} <= offered


def window(stage: Stage) -> None:
    """An agent's window is no larger than what the server reads of a prompt."""
    config = stage.engine.models.config(stage.provider.handle)
    assert config.context_window <= stage.server.window
    stage.agent(context_window_limit=TOO_WIDE)
    assert stage.engine.window <= stage.server.window
    stage.engine.change_agent(context_window_limit=4096)
    stage.engine.change_agent(context_window_limit=TOO_WIDE)
    assert stage.engine.window == min(TOO_WIDE, stage.server.window)
    for number in range(12):
        stage.plays(reply(f"Heard {number}."), reply("A summary of what was said."))
        stage.send(TALE)
        stage.check_rules()
        stage.server.forget()


def usage(stage: Stage) -> None:
    """Tokens and cached tokens are counted, wherever the server tells them."""
    stage.agent()
    stage.says("Hello Ann.")
    stage.goes_on()
    used = stage.engine.usage(stage.runs[-1].id)
    assert used.prompt_tokens > 0
    assert used.completion_tokens > 0
    assert used.cached_input_tokens


def whole_replies(stage: Stage) -> None:
    """A server that answers as a whole though it was asked for a stream, as some gateways do."""
    stage.server.ignores_streams = True
    stage.agent()
    stage.plays(reply(Think("I ring."), "So.", ring(1), ring(2)), reply(Think("Done."), "Rung."))
    stage.ends_well(stage.send("Ring."), "Rung.")
    assert stage.calls() == 2
    stage.goes_on()


def warm_prefix(stage: Stage) -> None:
    """Each request of a conversation begins with the whole request before it, also while a rule narrows what may be called."""
    stage.agent(tool_rules=[{"type": "constrain_child_tools", "tool_name": "ring", "children": ["tell"]}])
    for number in range(2):
        calls = (reply(Think("First."), ring(number)), reply(Think("Then."), ToolUse("tell", {"x": "Bob"})))
        stage.plays(*calls, reply(Think("Done."), f"Told {number}."))
        stage.ends_well(stage.send("Ring, then tell."), f"Told {number}.")
    stage.stays_warm()


def warm_after_an_edit(stage: Stage) -> None:
    """After an edit of memory, most of the next request is still cached, and no bound thinking is lost."""
    stage.agent()
    for number in range(4):
        stage.plays(reply(Think("I ring."), ring(number)), reply(Think("Done."), f"Rung {number}."))
        stage.ends_well(stage.send(TALE), f"Rung {number}.")
    stage.engine.edit_memory("human", "Ann, who lives in Oslo")
    stage.says("I know.")
    assert stage.server.shares[-1] >= WARM
    stage.stays_warm()
