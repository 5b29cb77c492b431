"""What happens when a model declines, a provider refuses or breaks off, and another model steps in."""

from __future__ import annotations

import json

from tests.contracts.model.kit.plays import TALE, Fault, ModelSpeech, Speak, Think, ToolUse, Trouble, reply, ring
from tests.contracts.model.kit.scenarios.conversations import IMAGE
from tests.contracts.model.kit.stage import Stage


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


def image_refused(stage: Stage) -> None:
    """The provider refuses an image that a tool has returned: the run goes on without it, and so does the conversation."""
    stage.agent()
    tool = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}, "required": []}}
    stage.plays(reply(Think("I look."), ToolUse("look")), Fault("image"), reply(Think("Nothing."), "I see nothing."))
    assert stage.send("Look.", client_tools=[tool]).stop_reason == "requires_approval"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
    stage.ends_well(stage.answers(type="tool", tool_return=[image], status="success"), "I see nothing.")
    stage.goes_on()
    assert [IMAGE in json.dumps(asked.body) for asked in stage.server.taken] == [False, True, False, False]


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
    stage.agent(fallback_models=[stage.other.provider.handle])
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


ADVICE: dict[Trouble, str] = {
    "wrong_key": "; check ",
    "no_credit": "; add credit to the account at this provider, or choose a model of another one",
    "gone": "; GET /v1/models/ lists the models that exist",
    "html": "; check the base URL",
}
"""What the error of each trouble tells the user to do."""


def clear_errors(stage: Stage) -> None:
    """A wrong key, no credit, a model that is gone, an address that answers HTML: the error names the provider and what to do,
    and the message is kept.
    """
    stage.agent()
    for kind, advice in ADVICE.items():
        stage.plays(Fault(kind))
        run = stage.send(f"Hello at {kind}.")
        stage.check_rules()
        assert run.error is not None, kind
        assert run.error.message.startswith(f"{stage.provider.handle.partition('/')[0]}: "), run.error
        assert advice in run.error.message, run.error
        assert "sk-" not in run.error.message
        assert f"Hello at {kind}." in stage.heard()
        stage.server.forget()
    stage.goes_on()
