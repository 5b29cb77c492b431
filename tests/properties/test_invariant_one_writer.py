"""Invariants 2 and 8: a message to a busy conversation is queued, refused or interrupts, as asked for; it is neither lost nor
interleaved.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from tests.protocol.staged import answers
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.world import World, data_in

Deed = Literal["queue", "reject", "interrupt", "plain", "step", "cancel", "approve", "deny"]
DEEDS = st.lists(
    st.sampled_from(["queue", "reject", "interrupt", "plain", "step", "step", "step", "cancel", "approve", "deny"]), max_size=16
)
RING = calls(("ring", {"x": "1"}))
REPLIES = [says("done"), RING, says("yes"), RING, calls(("memory_insert", {"label": "human", "new_string": "Oslo"}))]


class Talk:
    """One conversation and what its people did to it."""

    def __init__(self, folder: Path, *, held: bool) -> None:
        replies = in_turn(*REPLIES * 8, says("enough"))
        self.world = World(data_in(folder, replies))
        rules = [RequiresApprovalToolRule(tool_name="ring")] if held else []
        self.agent_id = self.world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "ring"), rules=rules)
        self.accepted: dict[str, str] = {}
        self.refused: list[str] = []

    def does(self, deed: str, text: str) -> None:
        head = self.world.head(self.agent_id)
        if deed in ("queue", "reject", "interrupt", "plain"):
            self._says(text, None if deed == "plain" else deed)
        elif deed == "step" and head.owner is not None:
            self.world.advance(head.owner)
        elif deed == "cancel" and (head.owner or head.pending):
            self.world.chain.termination.end(head.owner or head.pending or "", StopReason.CANCELLED)
        elif deed in ("approve", "deny") and head.pending is not None:
            answers(self.world, self.agent_id, approve=deed == "approve")

    def _says(self, text: str, mode: str | None) -> None:
        busy = bool(self.world.head(self.agent_id).owner or self.world.head(self.agent_id).pending)
        try:
            self.accepted[text] = self.world.accept(self.agent_id, text, when_busy=mode).run_id
        except HibernautError:
            assert busy, "a free conversation refuses nobody"
            assert mode in ("reject", None)
            self.refused.append(text)

    def ends(self) -> None:
        """Who waits for an answer gets one, until nobody waits."""
        for _ in range(100):
            self.world.sweep()
            if self.world.head(self.agent_id).pending is None:
                return
            answers(self.world, self.agent_id, approve=False)
        raise AssertionError("it asks for ever")


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(DEEDS, st.booleans())
def test_what_was_accepted_stands_in_the_log_once_and_what_was_refused_never(deeds: Sequence[str], held: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), held=held)
        for number, deed in enumerate(deeds):
            talk.does(deed, f"message {number}")
        talk.ends()
        check_settled(talk.world, talk.agent_id)
        said = [row.text() for row in talk.world.log(talk.agent_id) if row.role == "user" and row.step_id is None]
        kept = [row.text() for run_id in talk.accepted.values() for row in talk.world.run(run_id).run.input]
        assert sorted(said + kept) == sorted(talk.accepted), "accepted once, and nothing else"
        assert all(talk.world.run(talk.accepted[text]).run.status is RunStatus.CANCELLED for text in kept)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(["queue", "step"]), max_size=14))
def test_those_who_wait_get_their_turn_in_the_order_in_which_they_came(deeds: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), held=False)
        for number, deed in enumerate(deeds):
            talk.does(deed, f"message {number}")
        talk.ends()
        said = [row.text() for row in talk.world.log(talk.agent_id) if row.role == "user" and row.step_id is None]
        assert said == list(talk.accepted)
