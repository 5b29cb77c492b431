"""Invariant 10, at the wire: what a provider is sent begins with what it was sent before, byte for byte, unless memory was edited."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel
from hibernaut.adapters.model.context_windows import ContextWindows
from hibernaut.adapters.model.dialects import ANY
from hibernaut.adapters.model.openai import openai_messages
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agent import AgentType
from tests.support.replies import TOOLS, replies
from tests.support.scripted_model import in_turn, says
from tests.support.world import World, data_in

ANTHROPIC = AnthropicModel(api_key=None, windows=ContextWindows())
KINDS = st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT, AgentType.REACT])


def to_openai(request: ModelRequest) -> tuple[str, str]:
    """What stands before the messages of the log, and those."""
    body = openai_messages.payload(request, ANY, "openai")
    system, *said = body["messages"]  # type: ignore[misc]
    return json.dumps([body["tools"], system]), json.dumps(said, ensure_ascii=False)


def to_anthropic(request: ModelRequest) -> tuple[str, str]:
    body = ANTHROPIC.payload(request)
    return json.dumps([body["tools"], body["system"]]), json.dumps(body["messages"], ensure_ascii=False)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(KINDS, st.lists(replies(), min_size=1, max_size=6))
def test_what_a_provider_was_sent_is_the_beginning_of_what_it_is_sent_next(kind: AgentType, said: Sequence[ModelReply]) -> None:
    """Within a run always; from run to run while nobody edits memory, however much time passes."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(data_in(Path(folder), in_turn(*said, says("enough"))))
        agent_id = world.make_agent(kind=kind, blocks={"human": "Ann"}, tools=TOOLS)
        stretch: list[ModelRequest] = []
        for text in ("one", "two", "three"):
            known = len(world.models.requests)
            before = world.block(agent_id, "human").value
            world.send(agent_id, text)
            asked = world.models.requests[known:]
            check(asked)
            stretch = [*stretch, *asked] if asked and stretch and asked[0].system == stretch[-1].system else list(asked)
            check(stretch)
            world.clock.sleep(7200)
            if world.block(agent_id, "human").value != before:
                stretch = []


def check(requests: Sequence[ModelRequest]) -> None:
    """What stands before the log is the same for the same system message and tools, and the log only grows."""
    for before, after in pairwise(requests):
        assert before.tools == after.tools, "the offer has changed, though no rule asks for it"
        for wire in (to_openai, to_anthropic):
            (above, said), (next_above, next_said) = wire(before), wire(after)
            assert above == next_above
            assert next_said.startswith(said[:-1]), f"the prefix has changed:\n{said}\n{next_said}"
