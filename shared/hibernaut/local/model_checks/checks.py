"""What agents need of a model, one check each. A check returns a remark, or raises CheckFailed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

from hibernaut.adapters.model.catalogue import DEFAULT_HANDLE
from hibernaut.local.model_checks.checked_agent import CheckedAgent, CheckFailed
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.stop import StopReason

NEXT_STONE = '''
def next_stone(number: int) -> int:
    """Return the number of the stone that follows.

    Args:
        number (int): the number of the stone you stand on
    """
    return (number * 7 + 3) % 101
'''
TEMPERATURE = '''
def temperature(city: str) -> str:
    """Return the present temperature of a city.

    Args:
        city (str): the city's name
    """
    return f"It is {len(city)} degrees in {city}."
'''
STONES = 5
LAST_STONE = 61
"""Where five steps from stone 1 end, by the rule of `next_stone`: 10, 73, 9, 66, 61."""
RED_SQUARE = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSu"
    "QmCC"
)
"""A PNG image of 32 by 32 red pixels, in base64."""
FORM = {
    "type": "json_schema",
    "json_schema": {
        "name": "weather",
        "schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
            "required": ["city", "degrees"],
            "additionalProperties": False,
        },
    },
}


@immutable
class ModelCheck:
    """One check. `calls` is the number of model calls that it usually takes. `optional`: an agent works without it."""

    name: str
    perform: Callable[[CheckedAgent], str]
    calls: int
    optional: bool = False


def plain(agent: CheckedAgent) -> str:
    """The model replies with a text."""
    agent.make()
    _require(bool(agent.send("Reply with the one word: ready").ends().text.strip()), "the reply is empty")
    return ""


def streamed(agent: CheckedAgent) -> str:
    """The reply is streamed. The remark has the number of pieces."""
    agent.make()
    run_id = agent.begin("Count from one to twenty in words.", stream_tokens=True)
    agent.ended(run_id).ends()
    pieces = agent.deltas(run_id)
    _require(pieces > 0, "no piece of the reply was streamed")
    return f"{pieces} pieces" if pieces > 1 else "in one piece"


def tool_loop(agent: CheckedAgent) -> str:
    """The model calls a tool several times in a row, each time with the result before, and names the last result."""
    agent.make(sources=[NEXT_STONE])
    run = agent.send(
        "Start on stone 1. Call next_stone with its number, then with each number that it returns, one call after another, "
        f"{STONES} calls in all. Then tell me the last number."
    ).ends()
    called = [name for reply in run.calls for name in reply if name == "next_stone"]
    _require(len(called) >= STONES, f"it called the tool {len(called)} times, not {STONES}")
    _require(str(LAST_STONE) in run.text, f"it did not find the last number, {LAST_STONE}")
    return ""


def parallel_calls(agent: CheckedAgent) -> str:
    """The model makes three calls for one message. The remark says if it made them one after another."""
    agent.make(sources=[TEMPERATURE])
    run = agent.send("What is the temperature in Oslo, in Rome and in Lima? Call temperature for all three at once.").ends()
    called = [name for reply in run.calls for name in reply if name == "temperature"]
    _require(len(called) >= 3, f"it called the tool {len(called)} times, not 3")
    return "" if max(map(len, run.calls)) > 1 else "one after another"


def memory_edit(agent: CheckedAgent) -> str:
    """The model stores a fact in a memory block, and knows it in the next run."""
    agent.make()
    agent.send("My dog is called Rex. Save this in your memory block human now.").ends()
    _require("Rex" in agent.block("human"), "the fact is not in the memory block")
    run = agent.send("What is my dog called?").ends()
    _require("Rex" in run.text, "it does not know what its memory says")
    return ""


def edit_between_messages(agent: CheckedAgent) -> str:
    """A client edits memory between a message with a call and the next one: reasoning of before goes back, and the edit is
    seen.
    """
    agent.make(sources=[TEMPERATURE])
    agent.send("Call temperature for Oslo, then tell me the result.").ends()
    agent.edit("human", "They have a cat called Mia.")
    run = agent.send("By your memory, what is my cat called?").ends()
    _require("Mia" in run.text, "it does not know what was written into its memory")
    return ""


def narrowing_rule(agent: CheckedAgent) -> str:
    """After a call of the first tool only the second may be called."""
    children = {"type": "constrain_child_tools", "tool_name": "next_stone", "children": ["temperature"]}
    agent.make(sources=[NEXT_STONE, TEMPERATURE], tool_rules=[children])
    run = agent.send("Call next_stone with 1. When it has answered, call temperature for Oslo. Then say: done.").ends()
    called = [name for reply in run.calls for name in reply]
    _require(called[:2] == ["next_stone", "temperature"], f"it called {', '.join(called) or 'no tool'}")
    return ""


def system_message(agent: CheckedAgent) -> str:
    """A message of another agent is a system message behind others."""
    agent.make()
    agent.send("Reply with the one word: ready").ends()
    run = agent.send([{"role": "system", "content": "The user has left. Reply with the one word: noted"}]).ends()
    _require(bool(run.text.strip()), "the reply is empty")
    return ""


def after_another_model(agent: CheckedAgent) -> str:
    """The agent had another model for a message, with calls before and after."""
    agent.make(sources=[TEMPERATURE])
    agent.send("Call temperature for Oslo, then tell me the result.").ends()
    agent.change_model(DEFAULT_HANDLE)
    agent.send("Remember that I live in Rome.").ends()
    agent.change_model(agent.handle)
    run = agent.send("Call temperature for Lima, then tell me the result.").ends()
    called = [name for reply in run.calls for name in reply]
    _require("temperature" in called, "it did not call the tool")
    return ""


def rule(agent: CheckedAgent) -> str:
    """The model obeys a rule about the first tool."""
    agent.make(sources=[TEMPERATURE], tool_rules=[{"type": "run_first", "tool_name": "temperature"}])
    calls = agent.send("Good morning, I am in Oslo.").ends().calls
    _require(bool(calls) and calls[0][0] == "temperature", "the first call is not that of the rule")
    return ""


def approval(agent: CheckedAgent) -> str:
    """A call waits for an approval, and the run ends after it."""
    agent.make(sources=[TEMPERATURE], tool_rules=[{"type": "requires_approval", "tool_name": "temperature"}])
    run = agent.send("Call temperature for Oslo.").ends(StopReason.REQUIRES_APPROVAL)
    agent.answers(run, {"type": "approval", "approve": True}).ends()
    return ""


def image_in_a_return(agent: CheckedAgent) -> str:
    """The model sees an image that a tool returns."""
    agent.make()
    camera = {"name": "take_photo", "description": "Takes a photo.", "parameters": {"type": "object", "properties": {}}}
    run = agent.send("Call take_photo. Then tell me its colour in one word.", client_tools=[camera])
    run.ends(StopReason.REQUIRES_APPROVAL)
    photo = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": RED_SQUARE}}
    text = agent.answers(run, {"type": "tool", "tool_return": [photo], "status": "success"}).ends().text
    _require("red" in text.lower(), "it did not see that the photo is red")
    return ""


def structured_output(agent: CheckedAgent) -> str:
    """The reply has the form of a JSON schema."""
    agent.make(include_base_tools=False, response_format=FORM)
    text = agent.send("It is 7 degrees in Oslo.").ends().text
    try:
        value = json.loads(text)
    except ValueError:
        raise CheckFailed("the reply is not JSON") from None
    _require(isinstance(value, dict) and value.get("degrees") == 7, "the reply does not have the required form")
    return ""


def compaction(agent: CheckedAgent) -> str:
    """The model replies after its window was summarized."""
    agent.make()
    for text in ("The door code is 4711.", "My cat is called Mia.", "I live in Oslo."):
        agent.send(f"{text} Just say: noted.").ends()
    agent.summarize()
    _require(bool(agent.send("Reply with the one word: ready").ends().text.strip()), "the reply is empty")
    return ""


def cancelled(agent: CheckedAgent) -> str:
    """A streamed reply is cancelled, and the model replies to the next message. The remark says if the reply was over before."""
    agent.make()
    run_id = agent.begin("Count from one to three hundred in words.", stream_tokens=True)
    agent.wait_for_delta(run_id)
    with suppress(Conflict):  # it has ended
        agent.cancel()
    run = agent.ended(run_id)
    quick = run.run.stop_reason is StopReason.END_TURN  # a reply may be over when it is cancelled
    if not quick:
        run.ends(StopReason.CANCELLED)
    agent.send("Reply with the one word: ready").ends()
    return "the reply was too quick to be cancelled" if quick else ""


def warm_prefix(agent: CheckedAgent) -> str:
    """The second request with the same long prefix. The remark has the share of tokens that the provider read from its cache."""
    agent.make(system="You answer in one word. " + "Remember that the sea is wide and the night is long. " * 400)
    agent.send("Reply with the one word: ready").ends()
    run = agent.send("Reply with the one word: steady").ends()
    usage = run.run.usage
    if not usage.prompt_tokens:
        return "no tokens reported"
    return f"{100 * (usage.cached_input_tokens or 0) // usage.prompt_tokens} % cached"


CHECKS = (
    ModelCheck("plain reply", plain, 1),
    ModelCheck("streamed reply", streamed, 1),
    ModelCheck("five tool calls", tool_loop, STONES + 1),
    ModelCheck("parallel calls", parallel_calls, 2),
    ModelCheck("memory edit", memory_edit, 3),
    ModelCheck("edit between messages", edit_between_messages, 3),
    ModelCheck("tool rule", rule, 2),
    ModelCheck("narrowing rule", narrowing_rule, 3),
    ModelCheck("system message", system_message, 2),
    ModelCheck("after another model", after_another_model, 4),
    ModelCheck("approval", approval, 2),
    ModelCheck("image in a return", image_in_a_return, 2, optional=True),
    ModelCheck("structured output", structured_output, 1, optional=True),
    ModelCheck("after a compaction", compaction, 5),
    ModelCheck("cancelled stream", cancelled, 2),
    ModelCheck("warm prefix", warm_prefix, 2, optional=True),
)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CheckFailed(otherwise)
