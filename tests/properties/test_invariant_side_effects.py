"""Invariants 3, 4 and 5: whatever strikes a run, and however often, a call outside is made once at most, and the model is told of
it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import OutcomeUnknown
from hibernaut.services.tool_calls.tool_execution import INTERRUPTED
from tests.proof.at_home import PlayedStory, WorldDesk
from tests.proof.clients import Say
from tests.proof.faults import Died, Points
from tests.proof.stories import Story, by_step
from tests.proof.verdict import verdict
from tests.support.scripted_model import calls, in_turn, says

RING = ("ring", {"x": ""})
INSERT = ("memory_insert", {"label": "human", "new_string": "Oslo"})
HELLO = Say("hello", waits=False)
STEPS = st.lists(st.lists(st.sampled_from([RING, RING, INSERT]), min_size=1, max_size=3), min_size=1, max_size=3)
FAULTS = st.lists(st.tuples(st.sampled_from(["dies", "held up", "no answer"]), st.integers(1, 30)), max_size=4)
slow = settings(max_examples=45, suppress_health_check=[HealthCheck.too_slow])


def accepted(story: Story, folder: Path) -> PlayedStory:
    """A story whose message is accepted and whose run has not been started."""
    played = PlayedStory(story, folder)
    client = played.client(played.opened(alone=False))
    for act in story.acts:
        act.done(client)
    played.data.clock.sleep(100)
    return played


def struck(played: PlayedStory, kind: str, at: int) -> None:
    """A process that takes up what is due, and to which this happens at its `at`-th point; none knows that it is alone."""

    def strikes() -> None:
        if kind == "dies":
            played.dies(points)
        elif kind == "held up":
            WorldDesk(played.opened(holder="host:held", alone=False)).settle()
        elif points.struck.endswith("write"):
            raise OutcomeUnknown("no answer")

    points = Points(at, strikes)
    world = played.opened(points, holder=f"host:{at}", alone=False)
    with suppress(Died):
        world.engines.sweep.run()
        world.workflow.drive()
    played.data.clock.sleep(1000)


@slow
@given(STEPS, FAULTS)
def test_a_call_happens_at_most_once_and_is_told_whatever_strikes_and_how_often(
    steps: Sequence[Sequence[tuple[str, dict[str, object]]]], faults: Sequence[tuple[str, int]]
) -> None:
    story = Story("any", by_step(*(calls(*made) for made in steps), says("done")), acts=(HELLO,))
    with tempfile.TemporaryDirectory() as folder, closing(accepted(story, Path(folder))) as played:
        for kind, at in faults:
            struck(played, kind, at)
        tried = played.judged(Points(0, lambda: None), played.opened(holder="host:last", alone=False))
        assert tried.found == []


@slow
@given(st.lists(st.integers(1, 20), min_size=1, max_size=3))
def test_a_journaled_reply_is_what_is_committed_however_often_its_worker_dies(deaths: Sequence[int]) -> None:
    """Each time it is asked the model says something else: what was journaled, and so may have had effects, is what the log
    tells.
    """

    def script(request: ModelRequest, number: int) -> ModelReply:
        if any(row.role == "tool" for row in request.messages):
            return says("done")
        return calls(("ring", {"x": f"asked {number}"}))

    with tempfile.TemporaryDirectory() as folder, closing(accepted(Story("any", script, acts=(HELLO,)), Path(folder))) as played:
        for at in deaths:
            struck(played, "dies", at)
        world = played.opened(holder="host:last", alone=False)
        WorldDesk(world).settle()
        (made,) = [row for row in world.log(played.agent_id) if row.tool_calls]
        assert made.tool_calls is not None
        effects = [args["x"] for _, args in world.runner.effects]
        said = [returned.func_response or "" for row in world.log(played.agent_id) for returned in row.tool_returns]
        assert len(effects) <= 1
        assert all(str(effect) in made.tool_calls[0].function.arguments for effect in effects)
        assert not effects or "did ring" in said[0] or INTERRUPTED in said[0]
        assert verdict(world, played.agent_id, ["hello"], played.before) == []


def test_a_model_that_is_asked_again_for_what_was_never_journaled_may_say_something_else(tmp_path: Path) -> None:
    """The other side of the invariant: nothing of an unjournaled reply is kept, so nothing of it has happened."""
    heard = 0
    for at in range(1, 30):
        story = Story("any", in_turn(says("first"), says("second")), acts=(HELLO,))
        with closing(accepted(story, tmp_path / str(at))) as played:
            struck(played, "dies", at)
            world = played.opened(holder="host:last", alone=False)
            if len(world.models.requests) != 1 or world.log(played.agent_id)[-1].role != "user":
                continue
            heard += 1
            WorldDesk(world).settle()
            assert world.log(played.agent_id)[-1].text() == "second"
    assert heard > 0, "no worker died between the reply and its commit"
