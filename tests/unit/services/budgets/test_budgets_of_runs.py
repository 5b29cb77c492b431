"""Budgets in the life of runs: what counts, what is refused, how a run ends that reaches a limit, and who is told."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hibernaut.domain.budgets import Spending
from hibernaut.ports.storage.table import Delete, Key
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.errors import BudgetExceeded
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.turns.handovers import Handovers
from hibernaut.services.turns.unit_of_work import UnitOfWork, UnitWriter
from hibernaut.store.runs.transaction_values import StepWrites
from tests.support.scripted_model import USAGE, Script, calls, in_turn, says
from tests.support.tables import LosesResponses
from tests.support.world import World, data_in

RING = ("ring", {"x": "twice"})
A_STEP = USAGE.total_tokens


def world_in(folder: Path, script: Script | None = None, **options: object) -> World:
    return World(data_in(folder, script or in_turn(says("done"))), **options)  # type: ignore[arg-type]


def limited(world: World, subject: str = "tenant", **limits: object) -> None:
    world.budgets.set(subject, SetBudget.model_validate(limits))


def test_steps_and_tokens_of_a_run_count_for_the_tenant_and_for_the_agent(tmp_path: Path) -> None:
    world = world_in(tmp_path, in_turn(calls(RING), says("done")))
    agent, other = world.make_agent(tools=("ring",)), world.make_agent()
    for subject in ("tenant", agent, other):
        limited(world, subject, tokens_per_day=1000)
    world.send(agent, "hello")
    used = {subject: world.budgets.get(subject).used for subject in ("tenant", agent, other)}
    assert (used["tenant"].steps_per_day, used["tenant"].tokens_per_day) == (2, 2 * A_STEP)
    assert used[agent] == used["tenant"]
    assert used[other].tokens_per_month == 0


def test_a_request_is_refused_when_the_budget_is_used_up(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, tokens_per_day=A_STEP)
    world.send(agent, "hello")
    with pytest.raises(BudgetExceeded, match=f"tokens_per_day of the tenant is used up: {A_STEP} of {A_STEP}") as refused:
        world.accept(agent, "again")
    day_ends = world.budgets.get("tenant").day_ends
    assert refused.value.retry_after == pytest.approx((day_ends - world.clock.now()).total_seconds(), abs=1)
    assert len(world.models.requests) == 1
    assert [row.text() for row in world.log(agent) if row.role == "user"] == ["hello"]


def test_a_day_and_a_month_begin_at_zero(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, tokens_per_day=A_STEP)
    world.send(agent, "hello")
    world.clock.sleep(86_400)
    world.send(agent, "on the next day")
    used = world.budgets.get("tenant").used
    assert (used.tokens_per_day, used.tokens_per_month) == (A_STEP, 2 * A_STEP)
    world.clock.sleep(32 * 86_400)
    assert world.budgets.get("tenant").used.tokens_per_month == 0


def test_a_run_that_reaches_its_budget_ends_with_a_reason_of_its_own(tmp_path: Path) -> None:
    world = world_in(tmp_path, in_turn(calls(RING)))
    agent = world.make_agent(tools=("ring",))
    limited(world, agent, steps_per_day=2)
    run = world.run(world.send(agent, "hello")).run
    assert (run.status, run.stop_reason, run.steps) == (RunStatus.COMPLETED, StopReason.BUDGET_EXCEEDED, 2)
    assert run.metadata is not None
    assert run.metadata["budget"] == {"name": "steps_per_day", "subject": agent}
    assert len(world.models.requests) == 2
    assert world.log(agent)[1].text() == "hello"
    assert world.head(agent).owner is None


def test_a_repeated_request_attaches_although_the_budget_is_used_up(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, tokens_per_day=A_STEP)
    run = world.send(agent, "hello", digest="same")
    again = world.accept(agent, "hello", digest="same", retry=1)
    assert (again.run_id, again.attached) == (run, True)


def test_as_many_runs_as_the_budget_allows_are_open_at_once(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    first, second, third = world.make_agent(), world.make_agent(), world.make_agent()
    limited(world, concurrent_runs=2)
    world.begin(first, "hello")
    queued = world.begin(first, "in the queue")
    with pytest.raises(BudgetExceeded, match="concurrent_runs of the tenant is used up: 2 of 2"):
        world.accept(third, "too many")
    world.chain.termination.end(queued, StopReason.CANCELLED)
    world.begin(second, "there is room")
    world.workflow.drive()
    assert world.budgets.get("tenant").used.concurrent_runs == 0


def test_an_interrupting_message_takes_the_slot_of_the_run_that_it_ends(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent, other = world.make_agent(), world.make_agent()
    limited(world, concurrent_runs=1)
    world.begin(agent, "hello")
    world.begin(agent, "stop", when_busy="interrupt")
    assert world.budgets.get("tenant").used.concurrent_runs == 1
    with pytest.raises(BudgetExceeded):
        world.accept(other, "too many")
    world.workflow.drive()
    assert world.budgets.get("tenant").used.concurrent_runs == 0


def test_an_interrupting_message_is_refused_if_the_run_that_it_ends_holds_no_slot(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent, other = world.make_agent(), world.make_agent()
    before = world.begin(agent, "before there was a budget")
    limited(world, concurrent_runs=1)
    world.begin(other, "hello")
    with pytest.raises(BudgetExceeded):
        world.begin(agent, "stop", when_busy="interrupt")
    assert not world.run(before).ended


def test_runs_that_began_before_a_budget_was_set_are_not_bound_by_it(tmp_path: Path) -> None:
    world = world_in(tmp_path, in_turn(calls(RING), says("done")))
    agent = world.make_agent(tools=("ring",))
    run = world.begin(agent, "hello")
    limited(world, steps_per_day=1, concurrent_runs=1)
    world.workflow.drive()
    assert world.run(run).run.stop_reason is StopReason.END_TURN
    assert world.budgets.get("tenant").used.steps_per_day == 0


def test_a_changed_limit_binds_runs_under_way_at_their_next_step(tmp_path: Path) -> None:
    world = world_in(tmp_path, in_turn(calls(RING)))
    agent = world.make_agent(tools=("ring",))
    limited(world, steps_per_day=100)
    run = world.begin(agent, "hello")
    world.advance(run)
    limited(world, steps_per_day=1)
    world.workflow.drive()
    assert (world.run(run).run.stop_reason, world.run(run).run.steps) == (StopReason.BUDGET_EXCEEDED, 1)


def test_the_default_of_the_deployment_bounds_tenants_without_a_budget(tmp_path: Path) -> None:
    world = world_in(tmp_path, tenant_budget=SetBudget(tokens_per_day=A_STEP))
    agent = world.make_agent()
    assert world.budgets.get("tenant").is_default
    assert [budget.is_default for budget in world.budgets.page()] == [True]
    world.send(agent, "hello")
    with pytest.raises(BudgetExceeded):
        world.accept(agent, "again")
    limited(world, tokens_per_day=10 * A_STEP)
    world.send(agent, "with a budget of its own")
    assert world.budgets.get("tenant").used.tokens_per_day == 2 * A_STEP


def test_a_crossing_is_told_once_by_all_processes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, tokens_per_day=2 * A_STEP, warn_at=0.5)
    with caplog.at_level(logging.WARNING, logger="hibernaut.services.budgets"):
        world.send(agent, "half of it")
        world.reborn().send(agent, "all of it")
        for _ in range(2):
            with pytest.raises(BudgetExceeded):
                world.reborn().accept(agent, "no more")
    told = [record.crossing for record in caplog.records if record.message == "budget crossed"]  # type: ignore[attr-defined]
    assert told == ["warning", "limit"]


def test_a_lost_answer_counts_a_step_once(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, tokens_per_day=1000, concurrent_runs=5)
    losing = World(world.data, wrap=lambda table: LosesResponses(table, after=range(1, 100, 2)))
    losing.send(agent, "hello")
    used = world.budgets.get("tenant").used
    assert (used.steps_per_day, used.tokens_per_day, used.concurrent_runs) == (1, A_STEP, 0)


def test_the_counters_of_a_month_expire(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, tokens_per_day=1000)
    world.send(agent, "hello")
    month = world.clock.now().strftime("%Y-%m")
    found = [world.data.table.query(f"default#USED#tenant#{shard}") for shard in range(8)]
    (item,) = (item for items in found for item in items)
    assert item["sk"] == month
    assert int(item["ttl"]) > world.budgets.get("tenant").month_ends.timestamp()


def test_callers_that_race_begin_as_many_runs_as_the_budget_allows(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agents = [world.make_agent() for _ in range(6)]
    limited(world, concurrent_runs=2)
    ready = threading.Barrier(len(agents))

    def accepted(agent: str) -> bool:
        ready.wait()
        try:
            world.accept(agent, "now")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(len(agents)) as callers:
        assert sum(callers.map(accepted, agents)) == 2
    assert world.budgets.get("tenant").used.concurrent_runs == 2


def test_the_end_of_a_run_whose_conversation_is_gone_gives_its_slot_back(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, concurrent_runs=1)
    run = world.begin(agent, "hello")
    world.data.table.write(Delete(Key(f"default#CONV#{agent}", "HEAD")))
    for _ in range(2):
        world.chain.termination.end(run, StopReason.CANCELLED)
    assert world.budgets.get("tenant").used.concurrent_runs == 0


def test_a_budget_that_is_deleted_meanwhile_gets_its_slots_back(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, concurrent_runs=1)
    world.begin(agent, "hello")
    world.budgets.delete("tenant")
    world.send(agent, "without a budget")
    limited(world, concurrent_runs=1)
    assert world.budgets.get("tenant").used.concurrent_runs == 0
    world.send(agent, "with one again")


def test_an_answered_approval_needs_a_slot_and_a_passed_deadline_none(tmp_path: Path) -> None:
    world = world_in(tmp_path, in_turn(calls(("spend", {})), says("done")))
    agent, other = world.make_agent(tools=("spend",), rules=[RequiresApprovalToolRule(tool_name="spend")]), world.make_agent()
    limited(world, concurrent_runs=1)
    asking = world.send(agent, "buy it", approval_deadline=60)
    assert world.run(asking).run.stop_reason is StopReason.REQUIRES_APPROVAL
    world.begin(other, "hello")
    (record,) = [world.chain.approvals.pending(world.head(agent))]
    assert record is not None
    with pytest.raises(BudgetExceeded):
        world.answer(agent, {"type": "approval", "tool_call_id": record.calls[0].id, "approve": True})
    world.clock.sleep(120)
    assert world.chain.approvals.deny_overdue(asking) is not None
    world.workflow.drive()
    assert world.budgets.get("tenant").used.concurrent_runs == 0


def test_a_summary_on_request_counts_and_is_refused_beyond_the_budget(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent = world.make_agent()
    for number in range(6):
        world.send(agent, f"message {number}")
    limited(world, agent, tokens_per_day=A_STEP)
    world.chain.compactions.on_request(agent, key_id=None)
    assert world.budgets.get(agent).used.tokens_per_day == A_STEP
    assert world.budgets.get(agent).used.steps_per_day == 0
    with pytest.raises(BudgetExceeded):
        world.chain.compactions.on_request(agent, key_id=None)


def test_a_call_without_a_run_counts_once_although_its_answer_is_lost(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    limited(world, tokens_per_day=1000)
    losing = World(world.data, wrap=lambda table: LosesResponses(table, after={1}))
    checks = losing.chain.budgets
    checks.spend(checks.admit_call(world.make_agent(), None), Spending(tokens=7))
    assert world.budgets.get("tenant").used.tokens_per_day == 7


def test_a_commit_without_rows_counts_once_although_its_answer_is_lost(tmp_path: Path) -> None:
    """As that of a compaction that leaves the window as it was: no row and no event makes its repetition fail."""
    world = world_in(tmp_path)
    agent = world.make_agent()
    limited(world, tokens_per_day=1000)
    state = replace(world.run(world.begin(agent, "hello")), token="mine")
    losing = World(world.data, wrap=lambda table: LosesResponses(table, after={1}))
    head = world.head(agent)
    writer = UnitWriter(losing.stores, losing.host, Handovers(losing.stores, losing.host), lambda _trigger: None)
    writer.write(UnitOfWork(head, head, state, StepWrites(spent=Spending(tokens=7))))
    assert world.budgets.get("tenant").used.tokens_per_day == 7
