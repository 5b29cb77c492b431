"""Whatever happens to an agent between its rests: its log reads as if it had never rested, and unpacking gives back what was
packed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.services.resting import pack_writer
from hibernaut.services.resting.resting import Resting
from tests.support.resting import months_pass, packed_rows, rows_of, talked, told, world_over
from tests.support.scripted_model import calls, in_turn, says

SENT, RESTED, UNPACKED, REBORN = "sent", "rested", "unpacked", "reborn"
REPLIES = (says("short"), says("x" * 900), calls(("memory_insert", {"label": "human", "new_string": "Oslo"})), says("ü" * 400))
"""Replies of the model in turn: short and long ones, and a call of a tool."""


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([SENT, RESTED, UNPACKED, REBORN]), min_size=1, max_size=8),
    st.sampled_from([400, 2_000, 1_000_000]),
)
def test_a_log_reads_as_if_the_agent_had_never_rested(happens: list[str], pack_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack_writer, "PACK_BYTES", pack_bytes)
        world, agent_id = talked(Path(folder), in_turn(*REPLIES * 10), "one")
        for event in happens:
            before, rows = told(world, agent_id), rows_of(world, agent_id)
            if event == SENT:
                world.send(agent_id, "and then?" * 30)
                assert told(world, agent_id)[1 : len(before)] == before[1:]
                continue
            if event == RESTED:
                months_pass(world)
            elif event == UNPACKED:
                Resting(world.stores, world.clock).unpack(agent_id)
                assert packed_rows(world, agent_id) == 0
            else:
                world = world_over(world.data)
                assert rows_of(world, agent_id) == rows
            assert told(world, agent_id) == before
