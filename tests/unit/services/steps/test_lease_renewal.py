"""Short leases: a worker keeps its step by renewing the lease, and by nothing that happens after it has lost or committed the
step.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import Contended
from hibernaut.services.steps.lease_renewal import LeaseRenewal
from hibernaut.services.steps.step_lease import LeaseLost, StepLease
from hibernaut.store.runs.runs import OPEN_FOR_MS, RunState
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import PassesOn
from tests.support.world import World, data_in

LEASE = 30.0
PATIENCE = 60


def renewal(world: World, taken: RunState) -> LeaseRenewal:
    return LeaseRenewal(world.stores.runs, world.stores.writer, world.host, taken)


def now_ms(world: World) -> int:
    return int(world.clock.now().timestamp() * 1000)


def test_a_worker_on_a_host_with_short_leases_holds_its_step_by_renewals(tmp_path: Path) -> None:
    leases: list[int] = []

    def script(_request: ModelRequest, _number: int) -> ModelReply:
        leases.append(world.run(run_id).lease - now_ms(world))
        held = renewal(world, world.run(run_id))
        for _ in range(3):
            world.clock.sleep(20)
            assert held.renew(LEASE)
            leases.append(world.run(run_id).lease - now_ms(world))
            assert other.advance(run_id) == "busy"
        return says("Hello.")

    world = World(data_in(tmp_path, script), alone=False, lease=LEASE)
    other = World(world.data, alone=False, holder="host:2")
    agent_id = world.make_agent()
    run_id = world.accept(agent_id, "hello").run_id
    world.advance(run_id)
    assert leases == [30_000] * 4
    assert len(world.models.requests) == 1
    assert world.response(run_id).messages[-1].content == "Hello."  # type: ignore[union-attr]
    check_settled(world, agent_id)


def test_the_sweep_leaves_a_renewed_lease_alone_and_takes_the_run_up_soon_after_the_last_renewal(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("Hello."))), alone=False)
    run_id = world.accept(world.make_agent(), "hello").run_id
    with StepLease(world.stores, world.host).acquire(world.run(run_id), LEASE) as taken:
        held = renewal(world, taken)
        for _ in range(3):
            world.clock.sleep(21)
            assert held.renew(LEASE)
        assert world.engines.sweep.run() == (0, 0)
        world.clock.sleep(LEASE + OPEN_FOR_MS / 1000 + 1)
        assert world.engines.sweep.run() == (1, 0)


def test_a_worker_that_was_paused_beyond_its_lease_renews_nothing_and_commits_nothing(tmp_path: Path) -> None:
    outcomes: list[bool] = []

    def script(_request: ModelRequest, number: int) -> ModelReply:
        if number == 1:
            held = renewal(world, world.run(run_id))
            world.clock.sleep(LEASE + 1)
            assert other.advance(run_id) == "finished"
            outcomes.append(held.renew(LEASE))
            return says("the late answer")
        return says("the answer")

    world = World(data_in(tmp_path, script), alone=False, lease=LEASE)
    other = World(world.data, alone=False, holder="host:2")
    agent_id = world.make_agent()
    run_id = world.accept(agent_id, "hello").run_id
    world.advance(run_id)
    assert outcomes == [False]
    assert [row.text() for row in world.log(agent_id) if row.role == "assistant"] == ["the answer"]
    check_settled(world, agent_id)


def test_a_renewal_that_arrives_after_the_commit_holds_nothing(tmp_path: Path) -> None:
    """Otherwise the run's next step would wait for a lease that no worker has."""
    world = World(data_in(tmp_path, in_turn(calls(("memory_insert", {"label": "human", "new_string": "Oslo"})), says("Done."))))
    world = World(world.data, alone=False, lease=LEASE)
    run_id = world.accept(world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert",)), "hello").run_id
    late: list[LeaseRenewal] = []
    script = world.models.script

    def noting(request: ModelRequest, number: int) -> ModelReply:
        late.append(renewal(world, world.run(run_id)))
        return script(request, number)  # type: ignore[return-value]

    world.models.script = noting
    assert world.advance(run_id) == "advance"
    assert not late[0].renew(LEASE)
    assert world.run(run_id).lease == 0
    assert world.advance(run_id) == "finished"


def test_whoever_judged_a_lease_before_its_renewal_does_not_get_the_step(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("Hello."))), alone=False)
    run_id = world.accept(world.make_agent(), "hello").run_id
    lease = StepLease(world.stores, world.host)
    with lease.acquire(world.run(run_id), LEASE) as taken:
        seen = world.run(run_id)
        world.clock.sleep(LEASE + 1)
        assert not lease.held_by_another(seen)
        assert renewal(world, taken).renew(LEASE)
        with pytest.raises(LeaseLost), lease.acquire(seen, LEASE):
            pytest.fail("the step is taken twice")


def test_a_lease_that_its_own_worker_has_rewritten_is_renewed_the_next_time(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("Hello."))), alone=False)
    run_id = world.accept(world.make_agent(), "hello").run_id
    with StepLease(world.stores, world.host).acquire(world.run(run_id), LEASE) as taken:
        held = renewal(world, replace(taken, lease=taken.lease - 1))
        assert held.renew(LEASE)
        world.clock.sleep(10)
        assert held.renew(LEASE)
        assert world.run(run_id).lease == now_ms(world) + 30_000


class Busy(PassesOn):
    """Refuses the first writes, then tells of the first that passes."""

    refused, passed = 0, threading.Event()

    def write(self, *changes: object) -> None:
        if self.refused < 1000 and any("renewal" in str(getattr(one, "set", {}).get("wt", "")) for one in changes):
            self.refused += 1
            if self.refused == 1:
                raise Contended("busy")
            self.passed.set()
        super().write(*changes)  # type: ignore[arg-type]


def test_the_lease_is_renewed_on_a_thread_of_its_own_while_the_worker_waits(tmp_path: Path) -> None:
    data = data_in(tmp_path, in_turn(says("Hello.")))
    watched = Busy(data.table)
    world = World(data, alone=False, wrap=lambda _: watched)
    run_id = world.accept(world.make_agent(), "hello").run_id
    with (
        StepLease(world.stores, world.host).acquire(world.run(run_id), LEASE) as taken,
        renewal(world, taken).every(0.003, LEASE),
    ):
        assert watched.passed.wait(PATIENCE)
    assert world.run(run_id).attempt == taken.attempt


ACTIONS = st.lists(st.tuples(st.sampled_from(["take", "renew", "release", "wait"]), st.integers(0, 2)), max_size=25)


@settings(max_examples=30)
@given(actions=ACTIONS)
def test_of_all_workers_only_the_newest_attempt_ever_keeps_the_lease(actions: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        world = World(data_in(Path(folder), in_turn(says("Hello."))), alone=False)
        run_id = world.accept(world.make_agent(), "hello").run_id
        lease = StepLease(world.stores, world.host)
        held: dict[int, tuple[RunState, LeaseRenewal]] = {}
        newest = -1
        for action, worker in actions:
            before = world.run(run_id)
            if action == "take" and not lease.held_by_another(before):
                taken = lease._take(before, LEASE)
                held[worker], newest = (taken, renewal(world, taken)), worker
            elif action == "renew" and worker in held:
                assert held[worker][1].renew(LEASE) == (worker == newest)
            elif action == "release" and worker in held:
                try:
                    lease.keep(held.pop(worker)[0], "over", 0, now_ms(world))
                    assert worker == newest
                    newest = -1
                except LeaseLost:
                    assert worker != newest
            elif action == "wait":
                world.clock.sleep(LEASE / 2)
            after = world.run(run_id)
            assert after.attempt >= before.attempt
            assert (after.lease, after.attempt) == (before.lease, before.attempt) or worker == newest or after.lease == 0
