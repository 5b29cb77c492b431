"""One script of scenarios, run on every wire: each drives a real agent and asserts that no request broke a rule of its provider.

A scenario is a function of a `Stage`. What it asserts beyond the rules: every reply was asked for, the last one reached the user, and
the conversation goes on afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.contracts.model.kit.plays import Fault, ModelSpeech, Speak, Think, ToolUse, reply
from tests.contracts.model.kit.stage import Stage

TALE = "I walked through Oslo in the rain, and every bell of the town rang. " * 40
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="

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


def ring(number: int = 1) -> ToolUse:
    return ToolUse("ring", {"x": f"bell {number}"})


def plain(stage: Stage) -> None:
    stage.agent()
    stage.says("Hello Ann.")
    stage.goes_on()


def tool_loop(stage: Stage) -> None:
    stage.agent()
    stage.plays(
        *(reply(Think(f"Step {step}."), f"Ringing {step}.", ring(step)) for step in range(1, 6)),
        reply(Think("Done."), "All rung."),
    )
    stage.ends_well(stage.send("Ring five bells."), "All rung.")
    assert stage.calls() == 5
    stage.goes_on()


def parallel_calls(stage: Stage) -> None:
    stage.agent()
    stage.plays(reply(Think("Three at once."), ring(1), ring(2), ring(3)), reply("All three."))
    stage.ends_well(stage.send("Ring three bells."), "All three.")
    assert stage.calls() == 3
    stage.goes_on()


def interleaved_thinking(stage: Stage) -> None:
    stage.agent()
    first = reply(Think("Where to begin?"), "I look first.", Think("At the bell, then."), ring(1))
    second = reply(Think("It rang."), ring(2), Think("And the other one."), ring(3))
    stage.plays(first, second, reply(Think("Enough."), "It rings."))
    stage.ends_well(stage.send("Look, then ring."), "It rings.")
    stage.goes_on()


def memory_edits(stage: Stage) -> None:
    """Memory is edited between runs, by a client and by the agent's own tool."""
    stage.agent()
    for number in range(3):
        stage.plays(reply(Think(f"Run {number}."), ring(number)), reply(Think("Now tell."), f"Rung {number}."))
        stage.ends_well(stage.send("Ring."), f"Rung {number}.")
        stage.engine.edit_memory("human", f"Ann, who lives in town {number}")
    inserts = ToolUse("memory_insert", {"label": "human", "new_string": "Likes tea."})
    stage.plays(reply(Think("Keep that."), inserts), reply(Think("Kept."), "I know."))
    stage.ends_well(stage.send("I like tea."), "I know.")
    stage.goes_on()


def narrowing_rule(stage: Stage) -> None:
    """After `ring`, only `tell` may be called."""
    stage.agent(tool_rules=[{"type": "constrain_child_tools", "tool_name": "ring", "children": ["tell"]}])
    stage.plays(
        reply(Think("First."), ring()), reply(Think("Then."), ToolUse("tell", {"x": "Bob"})), reply(Think("Done."), "Told.")
    )
    stage.ends_well(stage.send("Ring, then tell."), "Told.")
    stage.goes_on()


def forced_tool(stage: Stage) -> None:
    """A run begins with `ring`."""
    stage.agent(tool_rules=[{"type": "run_first", "tool_name": "ring"}])
    stage.plays(reply(Think("I must."), ring()), reply(Think("Done."), "Rung."))
    stage.ends_well(stage.send("Go."), "Rung.")


def compaction(stage: Stage) -> None:
    stage.agent(compaction_settings={"model": stage.provider.handle})
    for number in range(3):
        stage.plays(reply(Think(f"Run {number}."), "I ring.", ring(number)), reply(Think("Now tell."), f"Rung {number}."))
        stage.ends_well(stage.send("Ring."), f"Rung {number}.")
    stage.plays(reply("They rang bells."))
    stage.engine.compact()
    stage.check_rules()
    stage.goes_on()
    stage.plays(reply(Think("Again."), ring()), reply(Think("Now."), "Rung again."))
    stage.ends_well(stage.send("Ring."), "Rung again.")


def approval(stage: Stage) -> None:
    stage.agent(tool_rules=[{"type": "requires_approval", "tool_name": "ring"}])
    for approves in (True, False):
        stage.plays(reply(Think("May I?"), "I ask.", ring()), reply(Think("So be it."), f"Approved: {approves}."))
        asked = stage.send("Ring.")
        assert asked.stop_reason == "requires_approval"
        call = next(row for row in reversed(stage.engine.log()) if row.role == "approval" and row.tool_calls).tool_calls
        assert call
        answered = {"type": "approval", "tool_call_id": call[0].id, "approve": approves}
        stage.ends_well(stage.seen(stage.engine.answer(answered)), f"Approved: {approves}.")
    stage.goes_on()


def image_in_a_return(stage: Stage) -> None:
    """A client's tool returns an image, once with success and once with an error."""
    stage.agent()
    tool = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}, "required": []}}
    for status in ("success", "error"):
        stage.plays(reply(Think("I look."), ToolUse("look")), reply(Think("I see."), f"Seen: {status}."))
        asked = stage.send("Look.", client_tools=[tool])
        assert asked.stop_reason == "requires_approval"
        call = next(row for row in reversed(stage.engine.log()) if row.role == "approval" and row.tool_calls).tool_calls
        assert call
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
        seen = [{"type": "text", "text": "A bell."}, image]
        answered = {"type": "tool", "tool_call_id": call[0].id, "tool_return": seen, "status": status}
        stage.ends_well(stage.seen(stage.engine.answer(answered)), f"Seen: {status}.")
    stage.goes_on()


def refusal(stage: Stage) -> None:
    """The model declines; the conversation goes on."""
    stage.agent()
    stage.plays(ModelSpeech((Speak("I cannot help with that."),), refused=True))
    stage.send("Do harm.")
    stage.check_rules()
    stage.goes_on()


def overflow(stage: Stage) -> None:
    """The provider finds the prompt too long, in its own words: the window is compacted, and the run goes on."""
    stage.agent(compaction_settings={"model": stage.provider.handle})
    for number in range(3):
        stage.plays(reply(Think(f"Run {number}."), ring(number)), reply(Think("Now tell."), f"Rung {number}."))
        stage.ends_well(stage.send(TALE), f"Rung {number}.")
    stage.plays(Fault("too_long"), reply("They rang bells."), reply(Think("Where were we?"), "Here I am."))
    stage.ends_well(stage.send("And now?"), "Here I am.")
    stage.goes_on()


def broken_off(stage: Stage) -> None:
    """The stream of a reply with a call breaks, at bytes that are spread over it; each time, the conversation goes on."""
    stage.agent()
    said = reply(Think("I think before I ring."), "I ring.", ring())
    for share in (0.0, 0.01, 0.1, 0.25, 0.4, 0.55, 0.7):
        stage.plays(*[ModelSpeech(said.parts, cut=share)] * 3)
        run = stage.send("Ring.")
        stage.check_rules()
        assert run.stop_reason in ("llm_api_error", "invalid_llm_response", "error"), (share, run)
        stage.server.forget()
    assert stage.calls() == 0
    stage.goes_on()


def rate_limit(stage: Stage) -> None:
    """A limit on the rate with `retry-after`: the call is made again after that time."""
    stage.agent()
    before = stage.engine.clock.monotonic()
    stage.plays(Fault("rate_limit"), reply(Think("At last."), "Here I am."))
    stage.ends_well(stage.send(), "Here I am.")
    assert stage.engine.clock.monotonic() - before >= 7
    stage.goes_on()


def fallback(stage: Stage) -> None:
    """In the middle of a tool loop the provider goes down; a model of another family goes on; then the provider is back."""
    stage.agent(fallback_model=stage.other.provider.handle)
    stage.plays(
        reply(Think("One."), "I ring.", ring(1)), *[Fault("overloaded")] * 3, reply(Think("Three."), "I am back.", ring(3))
    )
    stage.other.plays(reply(Think("Two."), "I help.", ring(2)))
    stage.plays(reply(Think("Done."), "All rung."))
    stage.ends_well(stage.send("Ring three bells."), "All rung.")
    assert stage.other.left == 0
    stage.goes_on()


def change_of_model(stage: Stage) -> None:
    """The agent's model is changed to one of another family and back, with tool loops on both."""
    stage.agent()
    stage.plays(reply(Think("One."), ring(1)), reply(Think("Two."), "Rung."))
    stage.ends_well(stage.send("Ring."), "Rung.")
    stage.engine.change_agent(model=stage.other.provider.handle)
    stage.other.plays(reply(Think("I am new."), ring(2)), reply(Think("Good."), "Rung too."))
    stage.ends_well(stage.send("Ring."), "Rung too.")
    stage.engine.change_agent(model=stage.provider.handle)
    stage.plays(reply(Think("Back."), ring(3)), reply(Think("Four."), "Rung three."))
    stage.ends_well(stage.send("Ring."), "Rung three.")
    stage.goes_on()


def sampling(stage: Stage) -> None:
    """A temperature that the user chose, with reasoning off: sent where the model takes it, left out elsewhere."""
    off = {"thinking": {"type": "disabled"}} if stage.settings_type == "anthropic" else {}
    stage.agent(model_settings={"provider_type": stage.settings_type, "temperature": 0.3} | off)
    stage.says("Hello Ann.")
    stage.goes_on()


def reasoning_off(stage: Stage) -> None:
    """An agent whose user switched reasoning off, and that must call a tool first."""
    stage.agent(enable_reasoner=False, tool_rules=[{"type": "run_first", "tool_name": "ring"}])
    stage.plays(reply(Think("I must not think."), ring()), reply(Think("Really not."), "Rung."))
    stage.ends_well(stage.send("Go."), "Rung.")
    if stage.server.stops_thinking:
        assert not [part for row in stage.engine.log() for part in row.content if part.type == "reasoning"]


def strict_schemas(stage: Stage) -> None:
    """Strict tools are asked for, and some schemas cannot be strict: these are sent loose, and the request is taken."""
    settings = {"provider_type": stage.settings_type, "temperature": 1.0, "strict": True}
    stage.agent(tools=("ring",), model_settings=settings, schemas=LOOSE_SCHEMAS)
    stage.says("Hello Ann.")


def many_tools(stage: Stage) -> None:
    """More tools than a provider takes."""
    stage.agent(tools=("ring", *(f"tool_{number}" for number in range(140))))
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


def usage(stage: Stage) -> None:
    """Tokens and cached tokens are counted, wherever the server tells them."""
    stage.agent()
    stage.says("Hello Ann.")
    stage.goes_on()
    used = stage.engine.usage(stage.runs[-1].id)
    assert used.prompt_tokens > 0
    assert used.completion_tokens > 0
    assert used.cached_input_tokens


SCENARIOS: tuple[Callable[[Stage], None], ...] = (
    plain,
    tool_loop,
    parallel_calls,
    interleaved_thinking,
    memory_edits,
    narrowing_rule,
    forced_tool,
    compaction,
    approval,
    image_in_a_return,
    refusal,
    overflow,
    broken_off,
    rate_limit,
    fallback,
    change_of_model,
    sampling,
    reasoning_off,
    strict_schemas,
    many_tools,
    listed_models,
    window,
    usage,
)
NEEDS = {many_tools: "at_most_128_tools", strict_schemas: "strict_schemas_are_closed"}
"""Scenario -> the rule without which it proves nothing: it runs on the providers that have it."""
