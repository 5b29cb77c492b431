"""What is counted is what was committed, and a slot is held by an open run: at every moment, whoever dies, cancels or repeats a
write.

The machine of `test_runs_any_order` with budgets that come, go and change, messages that interrupt, and answers of the table that
are lost.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from hibernaut.domain.budgets import BudgetStanding
from hibernaut.ports.model import ModelReply
from hibernaut.schemas.access.budget import RunSlot, SetBudget, StoredBudget
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import BudgetExceeded, Busy, NotFound
from hibernaut.store.runs.runs import RunState
from tests.properties.test_runs_any_order import REPLIES, Lives
from tests.support.tables import LosesResponses
from tests.support.world import World


class Budgeted(Lives):
    """Two agents, a budget of the tenant and one of the first agent."""

    @initialize(
        kind=st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT]),
        replies=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=8),
        room=st.sampled_from([100_000, 1_500]),
    )
    def opens(self, kind: AgentType, replies: list[ModelReply], room: int) -> None:
        super().opens(kind=kind, replies=replies, room=room)
        self.subjects = ("tenant", self.agents[0])
        self.a_budget_is_set(0, 3, 10**6)

    @rule(
        agent=st.integers(0, 1),
        text=st.sampled_from(["hello", "bye"]),
        steps=st.integers(1, 4),
        busy=st.sampled_from(["queue", "interrupt", "reject"]),
        lost=st.sampled_from([(), (1,), (2,)]),
    )
    def somebody_sends_to_a_busy_agent(self, agent: int, text: str, steps: int, busy: str, lost: tuple[int, ...]) -> None:
        world = World(self.world.data, alone=False, wrap=lambda table: LosesResponses(table, after=lost))
        try:
            run_id = world.accept(self.agents[agent], text, max_steps=steps, when_busy=busy).run_id
        except (Busy, BudgetExceeded):
            return
        for slot in _held(self.world.run(run_id)) if busy != "interrupt" else ():
            assert self._standing(slot.subject).used.concurrent_runs <= slot.limit

    @rule(
        agent=st.integers(0, 1),
        texts=st.lists(st.sampled_from(["hello", "and", "bye"]), min_size=1, max_size=2),
        steps=st.integers(1, 4),
    )
    def somebody_sends(self, agent: int, texts: list[str], steps: int) -> None:
        try:
            self.world.accept(self.agents[agent], *texts, max_steps=steps)
        except (Busy, BudgetExceeded):
            return

    @precondition(lambda self: self.world.data.sent)
    @rule(data=st.data(), lost=st.sets(st.integers(1, 6), min_size=1))
    def a_step_is_advanced_whose_answers_are_lost(self, data: st.DataObject, lost: set[int]) -> None:
        world = World(self.world.data, holder="deaf", alone=False, wrap=lambda table: LosesResponses(table, after=lost))
        world.advance(data.draw(st.sampled_from(sorted(self.world.data.sent))))

    @rule(subject=st.integers(0, 1), runs=st.sampled_from([None, 1, 3]), steps=st.sampled_from([4, 10**6]))
    def a_budget_is_set(self, subject: int, runs: int | None, steps: int) -> None:
        self.world.budgets.set(self.subjects[subject], SetBudget(concurrent_runs=runs, steps_per_month=steps))

    @rule(subject=st.integers(0, 1))
    def a_budget_is_deleted(self, subject: int) -> None:
        try:
            self.world.budgets.delete(self.subjects[subject])
        except NotFound:
            return

    @invariant()
    def what_is_counted_was_committed(self) -> None:
        for subject in getattr(self, "subjects", ()):
            standing = self._standing(subject)
            states = [self.world.run(run_id) for run_id in self.world.data.sent]
            bound = [each for each in states if each.run.budgets and subject in each.run.budgets.subjects]
            holders = [each for each in bound if not each.ended and subject in _slots(each)]
            assert standing.used.concurrent_runs == len(holders)
            steps = [step for each in bound for step in self.world.stores.steps.of_run(each.run.id) if step.llm_request_start_ns]
            assert standing.used.steps_per_month == len(steps)
            summaries = sum(each.run.summaries.total_tokens for each in bound)
            assert standing.used.tokens_per_month == sum(step.total_tokens or 0 for step in steps) + summaries

    def _standing(self, subject: str) -> BudgetStanding:
        now = self.world.clock.now()
        asked = StoredBudget(subject=subject, created_at=now, updated_at=now, steps_per_month=1)
        return self.world.stores.budgets.standings([asked], now)[0]


def _slots(state: RunState) -> set[str]:
    return {slot.subject for slot in _held(state)}


def _held(state: RunState) -> list[RunSlot]:
    return state.run.budgets.slots if state.run.budgets else []


Budgeted.TestCase.settings = settings(
    max_examples=30, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
test_what_is_counted_was_committed_and_slots_are_held_by_open_runs = Budgeted.TestCase
