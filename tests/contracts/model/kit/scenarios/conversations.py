"""What agents do on a good day: tool loops, memory, rules, compaction, approvals, images."""

from __future__ import annotations

import json

from hibernaut.domain.models.retries import TRIES
from tests.contracts.model.kit.plays import Fault, Think, ToolUse, reply, ring
from tests.contracts.model.kit.stage import Stage
from tests.support.memory_reader import read_blocks, texts_of

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


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
    first = reply(Think("Where to begin?"), "I look first.", Think("At the bell, then.", sealed=True), ring(1))
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
    stage.stays_warm()
    assert read_blocks(texts_of(stage.server.requests[-1].body))["human"] == "Ann, who lives in town 2\nLikes tea."


def edit_before_an_answer(stage: Stage) -> None:
    """Memory is edited while a call waits for approval: what is told then stands within the tool loop."""
    stage.agent(tool_rules=[{"type": "requires_approval", "tool_name": "ring"}])
    stage.plays(reply(Think("May I?"), "I ask.", ring()), reply(Think("So be it."), "Rung."))
    assert stage.send("Ring.").stop_reason == "requires_approval"
    stage.engine.edit_memory("human", "Bob")
    stage.ends_well(stage.answers(approve=True), "Rung.")
    assert read_blocks(texts_of(stage.server.requests[-1].body))["human"] == "Bob"
    stage.goes_on()
    stage.stays_warm()


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
        assert stage.send("Ring.").stop_reason == "requires_approval"
        stage.ends_well(stage.answers(approve=approves), f"Approved: {approves}.")
    stage.goes_on()


def system_message(stage: Stage) -> None:
    """A system message between others, as another agent or a client sends it, alone and behind a tool's return."""
    stage.agent()
    stage.says("Hello Ann.")
    for number in range(2):
        stage.plays(reply(Think("The lights."), "I ring.", ring(number)), reply(Think("Rung."), f"Rung {number}."))
        stage.ends_well(stage.send("The lights went out.", role="system"), f"Rung {number}.")
    assert "The lights went out." in json.dumps(stage.server.requests[-1].body)
    stage.goes_on()
    stage.stays_warm()


def image_in_a_return(stage: Stage) -> None:
    """A client's tool returns an image, once with success and once with an error."""
    stage.agent()
    tool = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}, "required": []}}
    for status in ("success", "error"):
        stage.plays(reply(Think("I look."), ToolUse("look")), reply(Think("I see."), f"Seen: {status}."))
        assert stage.send("Look.", client_tools=[tool]).stop_reason == "requires_approval"
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
        seen = [{"type": "text", "text": "A bell."}, image]
        stage.ends_well(stage.answers(type="tool", tool_return=seen, status=status), f"Seen: {status}.")
    stage.goes_on()


def long_life(stage: Stage) -> None:
    """Three edits of memory, a rule, approvals, a compaction, a fallback to another family in the middle of a tool loop and back,
    and a change of model and back, all in one conversation.
    """
    rules = [
        {"type": "constrain_child_tools", "tool_name": "ring", "children": ["tell", "memory_insert"]},
        {"type": "requires_approval", "tool_name": "tell"},
    ]
    other = stage.other.provider.handle
    stage.agent(tool_rules=rules, compaction_settings={"model": stage.provider.handle}, fallback_models=[other])
    for number in range(3):
        stage.plays(
            reply(Think(f"Run {number}."), "I ring.", ring(number)), reply(Think("Now I ask."), ToolUse("tell", {"x": "Bob"}))
        )
        assert stage.send("Ring, then tell.").stop_reason == "requires_approval"
        stage.plays(reply(Think("I may."), f"Told {number}."))
        stage.ends_well(stage.answers(approve=True), f"Told {number}.")
        stage.engine.edit_memory("human", f"Ann, who lives in town {number}")
    stage.plays(reply("They rang bells, and told Bob."))
    stage.engine.compact()
    _falls_back(stage)
    stage.engine.change_agent(model=other)
    stage.other.plays(reply(Think("I am new."), ring(7)), reply(Think("Good."), "Rung too."))
    stage.ends_well(stage.send("Ring."), "Rung too.")
    stage.engine.change_agent(model=stage.provider.handle)
    stage.plays(reply(Think("Back."), ring(8)), reply(Think("Well."), "Rung again."))
    stage.ends_well(stage.send("Ring."), "Rung again.")
    assert read_blocks(texts_of(stage.server.requests[-1].body))["human"] == "Ann, who lives in town 2\nLikes tea."
    stage.goes_on()


def _falls_back(stage: Stage) -> None:
    """A run whose second of four steps is that of the other family, which edits the memory; then the provider goes on."""
    inserts = ToolUse("memory_insert", {"label": "human", "new_string": "Likes tea."})
    stage.plays(reply(Think("Once more."), "I ring.", ring(5)), *[Fault("overloaded")] * TRIES)
    stage.other.plays(reply(Think("I step in."), "I note that.", inserts))
    stage.plays(reply(Think("I am back."), ring(6)), reply(Think("Done."), "Rung and noted."))
    stage.ends_well(stage.send("Ring, and note that I like tea."), "Rung and noted.")
    assert stage.other.left == 0
