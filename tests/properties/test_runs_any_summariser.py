"""Runs whose windows fill up, whatever the model and the summariser say or fail to say (invariants 6, 9 and
10).
"""

from __future__ import annotations

import tempfile
from itertools import cycle, pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.domain.window.window import tokens
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.errors import ContextWindowExceeded
from hibernaut.schemas.models.model_settings import CompactionSettings
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.stop import RunStatus
from tests.properties.test_compaction import ANSWERS, MODES
from tests.support.scripted_model import calls, says, serialized
from tests.support.settled import check_settled, check_valid
from tests.support.talk import LONG, Talk, unmeasured

WINDOW = 4000
STEPS = st.sampled_from(
    [says(LONG), says(LONG), says("short"), calls(("ring", {"x": LONG})), calls(("ring", {"x": "1"}), ("ring", {"x": "2"}))]
)


@settings(max_examples=25)
@given(
    MODES,
    st.sampled_from([None, WINDOW // 2]),
    st.lists(st.integers(1, 30), min_size=8, max_size=12),
    st.lists(STEPS, min_size=1, max_size=8),
    st.lists(ANSWERS, min_size=1, max_size=4),
)
def test_every_run_ends_well_and_every_request_is_valid(
    mode: str, refused_above: int | None, lengths: list[int], steps: list[ModelReply], answers: list[ModelReply | Exception]
) -> None:
    """`refused_above`: the provider refuses what is longer, though its window is said to be larger. Replies come round again."""
    next_step, next_answer = cycle(steps), cycle(answers)

    def reply(request: ModelRequest) -> ModelReply:
        if refused_above is not None and tokens(request.messages) > refused_above:
            raise ContextWindowExceeded("too long")
        return unmeasured(next(next_step))

    def answer(_: ModelRequest) -> ModelReply:
        said = next(next_answer)
        if isinstance(said, Exception):
            raise said
        return said

    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), answer, reply, WINDOW)
        talk.set(compaction_settings=CompactionSettings(mode=mode))  # type: ignore[arg-type]
        runs = [ended(talk, f"{number}. {LONG[: 40 * length]}") for number, length in enumerate(lengths)]
        check_settled(talk.world, talk.agent)
        assert [run.status for run in runs] == [RunStatus.COMPLETED] * len(runs)
        for request in talk.steps:
            check_valid(request.messages)
            assert sum(row.role == "summary" for row in request.messages) <= 1
        moved = [later for before, later in pairwise(serialized(talk.world.models, talk.steps)) if not goes_on(before, later)]
        pins = sum(row.role == "summary" for row in talk.world.log(talk.agent))
        assert pins <= len(moved) or not talk.summaries
        said = [row.text() for row in talk.world.log(talk.agent) if row.role == "user" and row.step_id is None]
        assert len(said) == len(lengths), "the log keeps everything"


def ended(talk: Talk, text: str) -> StoredRun:
    run_id = talk.world.send(talk.agent, text, max_steps=6)
    shown = [row.text() for row in talk.steps[-1].messages if row.role == "user"]
    assert text in shown, "what the run was sent is seen to its end"
    return talk.world.run(run_id).run


def goes_on(before: str, later: str) -> bool:
    """Whether a request begins as the one before it ended."""
    return later.startswith(before.rstrip("]"))
