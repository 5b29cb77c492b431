"""What a client is shown of a run is numbered without gaps, and the same wherever the client comes back (Letta V1 API, digest
6.4).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply
from hibernaut.rest.http.streaming import wire_text
from hibernaut.schemas.errors import ModelError
from hibernaut.services.logs.run_log import PING, RunLog
from tests.properties.test_runs_streamed import BROKEN, CUT
from tests.support.replies import ANSWERS, TOOLS
from tests.support.scripted_model import Streamed, in_turn, says
from tests.support.world import World, data_in

TYPES = st.none() | st.lists(
    st.sampled_from(["assistant_message", "reasoning_message", "tool_call_message", "tool_return_message"]), max_size=3
)


def lines(log: RunLog) -> list[tuple[int, str]]:
    """What a client is sent, each line with its number."""
    found = []
    while page := log.look():
        for one in page:
            text = wire_text(one, log.run_id, number=one.shown_seq)
            if text is not None:
                found.append((one.shown_seq, text))
    return found


def bears(text: str) -> int | None:
    """The number that the line itself shows."""
    data = text.partition("data: ")[2].strip()
    found: int | None = None if data == "[DONE]" else json.loads(data).get("seq_id")
    return found


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    answers=st.lists(st.one_of(ANSWERS, CUT, BROKEN), max_size=5), pieces=st.booleans(), compactions=st.booleans(), types=TYPES
)
def test_any_prefix_resumed_anywhere_bears_the_same_numbers_without_gaps(
    answers: Sequence[ModelReply | ModelError | Streamed], pieces: bool, compactions: bool, types: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(data_in(Path(folder), in_turn(*answers, says("enough"))))
        agent_id = world.make_agent(blocks={"human": "Ann"}, tools=TOOLS)
        run_id = world.accept(
            agent_id,
            "one",
            background=True,
            stream_tokens=pieces,
            include_compaction_messages=compactions,
            include_return_message_types=types,
        ).run_id
        world.sweep()
        whole = lines(world.run_follower.log(run_id))
        assert [number for number, _ in whole] == list(range(PING + 1, PING + 1 + len(whole)))
        assert all(bears(text) in (None, number) for number, text in whole)
        for seen in range(len(whole) + PING + 1):
            log = world.run_follower.resumed(run_id, seen)
            assert log.shown_seq == max(seen, PING)
            assert lines(log) == [line for line in whole if line[0] > seen]
