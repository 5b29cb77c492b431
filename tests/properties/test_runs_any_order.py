"""Senders, steps, cancels, edits, sweeps, deaths and the passing of time, in any order: in the end everything has ended well.

Invariants 2, 6, 7 and 8; the world's checks name them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import Busy
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.stop import StopReason
from tests.support.scripted_model import calls, nothing, says
from tests.support.settled import check_settled, check_valid
from tests.support.tables import CountingTable
from tests.support.world import World, data_in

INSERT = ("memory_insert", {"label": "human", "new_string": "Oslo", "request_heartbeat": True})
RING = ("ring", {"x": "twice", "request_heartbeat": True})
SEND = ("send_message", {"message": "done"})
REPLIES = [says("done"), calls(INSERT), calls(RING), calls(INSERT, RING, text="Both."), calls(SEND)]


def uncounted(row: Message) -> Message:
    """A row but for its size, which is counted where it is first needed."""
    return row.model_copy(update={"tokens": None})


class Died(BaseException):
    """The process is no more."""


class Lives(RuleBasedStateMachine):
    """Two agents with a block between them, and houses that die."""

    @initialize(
        kind=st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT]),
        replies=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=8),
        room=st.sampled_from([100_000, 1_500]),
    )
    def opens(self, kind: AgentType, replies: list[ModelReply], room: int) -> None:
        """With little `room` in the model's context, old turns are dropped from the window again and again."""
        self.folder = tempfile.TemporaryDirectory()
        self.houses = 0

        def script(request: ModelRequest, number: int) -> ModelReply:
            return replies[number % len(replies)]

        data = data_in(Path(self.folder.name), script, context_window=room)
        self.world = World(data)
        first = self.world.make_agent(kind=kind, blocks={"human": "Ann"}, tools=("memory_insert", "ring", "send_message"))
        agent = self.world.stores.agents.get(first)
        assert agent is not None
        shared = self.world.chain.prompts.blocks_of(agent)
        self.agents = [first, self.world.make_agent(kind=kind, blocks=shared, tools=("memory_insert", "send_message"))]

    @rule(
        agent=st.integers(0, 1),
        texts=st.lists(st.sampled_from(["hello", "and", "bye"]), min_size=1, max_size=2),
        steps=st.integers(1, 4),
    )
    def somebody_sends(self, agent: int, texts: list[str], steps: int) -> None:
        try:
            self.world.accept(self.agents[agent], *texts, max_steps=steps)
        except Busy:
            return

    @precondition(lambda self: self.world.data.sent)
    @rule(data=st.data())
    def a_step_is_advanced(self, data: st.DataObject) -> None:
        self.world.advance(data.draw(st.sampled_from(sorted(self.world.data.sent))))

    @precondition(lambda self: self.world.data.sent)
    @rule(data=st.data(), at=st.integers(1, 14))
    def a_worker_dies_in_its_step(self, data: st.DataObject, at: int) -> None:
        """At a write, a model call or a tool; the house goes on, since others of its kind do."""
        left = [at]

        def point(place: str) -> None:
            if "get" in place or "query" in place:
                return
            left[0] -= 1
            if left[0] <= 0:
                raise Died

        dying = World(
            self.world.data,
            holder=f"dead:{at}",
            alone=False,
            wrap=lambda table: CountingTable(table, lambda _, kind: point(kind)),
        )
        self.world.models.at = self.world.runner.at = point
        try:
            dying.advance(data.draw(st.sampled_from(sorted(self.world.data.sent))))
        except Died:
            return
        finally:
            self.world.models.at = self.world.runner.at = nothing

    @precondition(lambda self: self.world.data.sent)
    @rule(data=st.data())
    def somebody_cancels(self, data: st.DataObject) -> None:
        self.world.chain.termination.end(data.draw(st.sampled_from(sorted(self.world.data.sent))), StopReason.CANCELLED)

    @rule(seconds=st.sampled_from([1, 100, 2000]))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.sleep(seconds)

    @rule()
    def the_sweep_runs(self) -> None:
        self.world.engines.sweep.run()
        self.world.workflow.drive()

    @rule(text=st.sampled_from(["Ann", "Bob"]))
    def somebody_edits_the_block(self, text: str) -> None:
        before = self.world.block(self.agents[0], "human")
        after = before.model_copy(update={"value": text})
        token = self.world.ids.token()
        self.world.stores.writer.write(*self.world.stores.blocks.change(before, after, token), token=token)

    @rule(alone=st.booleans())
    def another_process_takes_the_place_of_this_one(self, alone: bool) -> None:
        self.houses += 1
        self.world = World(self.world.data, holder=f"host:{self.houses}", alone=alone)
        for agent_id in self.agents:
            check_valid(self.world.log(agent_id))

    @invariant()
    def a_warm_worker_sees_what_a_cold_one_sees(self) -> None:
        for agent_id in getattr(self, "agents", ()):
            warm = self.world.stores.conversations.load(agent_id)
            cold = World(self.world.data).stores.conversations.load(agent_id)
            assert warm is not None
            assert cold is not None
            assert (warm.head, [*map(uncounted, warm.messages)]) == (cold.head, [*map(uncounted, cold.messages)])

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        last = World(self.world.data, holder="host:last", alone=False)
        for _ in range(6):
            last.clock.sleep(1000)
            last.engines.sweep.run()
            last.workflow.drive()
        check_settled(last, *self.agents)
        self.folder.cleanup()


Lives.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
test_whatever_happens_in_whatever_order_everything_ends_well = Lives.TestCase
