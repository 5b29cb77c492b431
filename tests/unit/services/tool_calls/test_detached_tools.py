"""A tool that is taken away from its agent while one of its calls is under way: what happened outside is told all the same
(invariant 5).
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from hibernaut.domain.window.open_calls import INTERRUPTED
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.runs.turn import Claim
from hibernaut.schemas.stop import StopReason
from hibernaut.services.turns.run_termination import NOT_RUN
from tests.protocol.staged import RING, Died, meanwhile, opened, returns, settles
from tests.support.scripted_model import in_turn, nothing, says
from tests.support.settled import check_settled
from tests.support.tables import PassesOn
from tests.support.world import World


def detach(world: World, agent_id: str) -> None:
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    token = world.ids.token()
    world.stores.writer.write(*world.stores.agents.change(agent, agent.model_copy(update={"tool_ids": []}), token), token=token)


def begun(folder: Path, dies: str) -> tuple[World, str]:
    """A worker has died over the call of a tool, `dies` says where, and the agent has the tool no more."""
    plain, agent_id = opened(folder, in_turn(RING, says("done")))

    def strikes(place: str) -> None:
        if place == dies:
            raise Died

    plain.runner.at = strikes
    run_id = plain.accept(agent_id, "hello").run_id
    with suppress(Died):
        World(plain.data, alone=False).advance(run_id)
    plain.runner.at = nothing
    detach(plain, agent_id)
    return plain, agent_id


def test_a_call_that_was_begun_and_whose_tool_is_gone_may_have_happened(tmp_path: Path) -> None:
    world, agent_id = begun(tmp_path, "after tool")
    settles(world)
    assert [name for name, _ in world.runner.effects] == ["ring"]
    assert INTERRUPTED in returns(world, agent_id)[0]
    check_settled(world, agent_id)


def test_a_call_that_had_a_result_and_whose_tool_is_gone_keeps_it(tmp_path: Path) -> None:
    """The worker dies over the step's transaction, after the call."""
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_id = plain.accept(agent_id, "hello").run_id

    def dies() -> None:
        raise Died

    world = meanwhile(plain, dies, lambda: bool(plain.runner.effects) and has_result(plain, run_id))
    with suppress(Died):
        world.advance(run_id)
    detach(plain, agent_id)
    settles(plain)
    assert len(plain.runner.effects) == 1
    assert "ToolConstraintError" not in returns(plain, agent_id)[0]
    assert '"status": "OK"' in returns(plain, agent_id)[0]


def has_result(world: World, run_id: str) -> bool:
    claim = world.stores.runs.claim(world.run(run_id), "call-0-ring")
    return claim is not None and claim.result is not None


def test_a_call_that_is_begun_while_its_run_is_cancelled_may_have_happened_though_its_tool_is_gone(tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_id = plain.accept(agent_id, "hello").run_id

    class Overtaken(PassesOn):
        """Whoever cancels has looked for claims, and finds none; then the worker, who knows the tool still, makes one."""

        claimed = False

        def write(self, *changes: Change) -> None:
            if not self.claimed:
                self.claimed = True
                deadline = plain.clock.now() + timedelta(seconds=60)
                claim = Claim(call_id="call-0-ring", name="ring", holder="host:1", deadline=deadline)
                made = plain.stores.transactions.claim(plain.run(run_id), claim, "claim", plain.clock.now())
                plain.stores.writer.write(*made, token="claim")
            super().write(*changes)

    def cancels() -> None:
        detach(plain, agent_id)
        World(plain.data, alone=False, wrap=Overtaken).chain.termination.end(run_id, StopReason.CANCELLED)

    meanwhile(plain, cancels, lambda: plain.run(run_id).journal != "").advance(run_id)
    (told,) = returns(plain, agent_id)
    assert INTERRUPTED in told
    assert NOT_RUN not in told
    check_settled(plain, agent_id)
