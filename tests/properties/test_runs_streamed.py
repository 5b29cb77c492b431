"""Runs that stream tokens, with a model that says anything: what was told in pieces is what the log shows in the end."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.wire.letta_messages import Rendering, render
from hibernaut.ports.model import ModelReply
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import ModelConnection, ModelError
from hibernaut.schemas.runs.events import MessageEvent
from tests.support.replies import ANSWERS, TOOLS, replies
from tests.support.scripted_model import Streamed, in_pieces, in_turn, says
from tests.support.settled import check_settled
from tests.support.tokens import deltas, events, streamed
from tests.support.world import World, data_in

BROKEN = st.builds(
    lambda reply, at, size: Streamed(in_pieces(reply, size)[:at], ModelConnection("it broke")),
    replies(),
    st.integers(0, 6),
    st.integers(1, 9),
)
CUT = st.builds(lambda reply, size: Streamed(in_pieces(reply, size), reply), replies(), st.integers(1, 9))


def check_told(world: World, run_id: str, agent_id: str, kind: AgentType) -> None:
    """Each message of the log was either told in pieces, all of it, or comes whole; never both."""
    how = Rendering(legacy=spec_of(kind).heartbeats)
    rows = {row.id: render(row, how) for row in world.log(agent_id)}
    told: dict[tuple[str, str], str] = {}
    for delta in deltas(world, run_id):
        key = delta.message_id, delta.message_type
        told[key] = told.get(key, "") + delta.text
    shown: dict[tuple[str, str], str] = {}
    for event in events(world, run_id):
        if isinstance(event, MessageEvent):
            message = rows[event.message_id][event.index]
            key = event.message_id, message.message_type
            assert event.streamed == (key in told)
            if message.message_type == "assistant_message":
                shown[key] = shown.get(key, "") + str(message.content)
            if message.message_type == "reasoning_message":
                shown[key] = shown.get(key, "") + message.reasoning
    assert {key: told[key] for key in shown if key in told} == {key: text for key, text in shown.items() if key in told}


@settings(max_examples=70, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT, AgentType.SLEEPTIME]),
    st.lists(st.one_of(ANSWERS, CUT, BROKEN), max_size=5),
    st.booleans(),
)
def test_what_was_told_in_pieces_is_what_the_log_shows(
    kind: AgentType, answers: Sequence[ModelReply | ModelError | Streamed], parallel: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(data_in(Path(folder), in_turn(*answers, says("enough")), parallel=parallel))
        agent_id = world.make_agent(kind=kind, blocks={"human": "Ann"}, tools=TOOLS)
        for text in ("one", "two"):
            check_told(world, streamed(world, agent_id, text), agent_id, kind)
        check_settled(world, agent_id)
