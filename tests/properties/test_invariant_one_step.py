"""Invariant 1: the messages, memory, passages, step records, events and progress of a step come into being together."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply
from hibernaut.schemas.runs.events import MessageEvent
from hibernaut.store.table import keys
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World, data_in

INSERT = ("memory_insert", {"label": "human", "new_string": "Oslo"})
KEEP = ("archival_memory_insert", {"content": "tea"})
RING = ("ring", {"x": "once"})
REPLIES = st.lists(st.lists(st.sampled_from([INSERT, KEEP, RING]), min_size=1, max_size=4), max_size=4)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(REPLIES)
def test_at_every_moment_a_step_is_there_whole_or_not_at_all(asked: Sequence[Sequence[tuple[str, dict[str, object]]]]) -> None:
    replies: list[ModelReply] = [*(calls(*made) for made in asked), says("done")]
    with tempfile.TemporaryDirectory() as folder:
        plain = World(data_in(Path(folder), in_turn(*replies)))
        agent_id = plain.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "archival_memory_insert", "ring"))
        moments: list[int] = []

        def look(_number: int, kind: str) -> None:
            if kind == "after write":
                moments.append(check_whole(plain, agent_id))

        World(plain.data, wrap=lambda table: CountingTable(table, look)).send(agent_id, "hello")
        assert moments[-1] == len(replies)
        assert sorted(set(moments)) == list(range(len(replies) + 1))


def check_whole(world: World, agent_id: str) -> int:
    """What every part tells of the steps is the same; how many there are."""
    log = world.log(agent_id)
    state = next(world.run(keys.last_part(str(row["sk"]))) for row in world.stores.runs.walk([agent_id]))
    replied = [row for row in log if row.role == "assistant"]
    answers = [answer for row in log for answer in row.tool_returns if answer.status == "success"]
    steps = world.stores.steps.of_run(state.run.id)
    assert len(replied) == state.run.steps == len(steps)
    assert {row.step_id for row in replied} == {step.id for step in steps}
    remembered = sum(answer.tool_call_id.endswith("-memory_insert") for answer in answers)
    assert world.block(agent_id, "human").value.count("Oslo") == remembered
    events = [event for _, event in world.stores.runs.events(state.run.id, 0, world.clock.now())]
    shown = {event.message_id for event in events if isinstance(event, MessageEvent)}
    assert shown == {row.id for row in log if row.step_id is not None}
    assert state.ended == (len(events) > 0 and state.last_seq == len(events))
    head = world.head(agent_id)
    assert (head.messages, head.last_message) == (len(log), log[-1].id)
    assert (head.owner is None) == state.ended
    return state.run.steps
