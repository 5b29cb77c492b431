"""What a custom tool changed in memory where its step could not be written as it was, or its run was ended in it: return and
memory agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.stop import StopReason
from hibernaut.services.tool_calls.tool_execution import MEMORY_TOO_MUCH
from hibernaut.services.turns.run_termination import RunTermination
from tests.protocol.staged import RING, Died, answers, meanwhile, opened, returns
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.world import World, data_in

OSLO = {"human": "Lives in Oslo"}


def recorded(folder: Path, blocks: Mapping[str, str] = OSLO, *, held: bool = False) -> tuple[World, str, str]:
    """A worker has died over a step's transaction, when the call of a tool that changed these blocks had its result; the run."""
    plain, agent_id = opened(folder, in_turn(RING, says("done")), held=held)

    def rings(_: ToolJob) -> ToolOutcome:
        return ToolOutcome(status="success", value="rung", blocks=dict(blocks))

    def dies() -> None:
        raise Died

    def has_result() -> bool:
        claim = plain.stores.runs.claim(plain.run(run_id), "call-0-ring") if plain.runner.effects else None
        return claim is not None and claim.result is not None

    plain.runner.does = rings
    if held:
        plain.send(agent_id, "hello")
        run_id = answers(plain, agent_id).run_id
    else:
        run_id = plain.accept(agent_id, "hello").run_id
    with suppress(Died):
        meanwhile(plain, dies, has_result).advance(run_id)
    assert len(plain.runner.effects) == 1
    return plain, agent_id, run_id


def memory(world: World, agent_id: str) -> dict[str | None, str]:
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    return {block.label: block.value for block in world.stores.blocks.get_many(agent.block_ids).values()}


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("reason", [StopReason.CANCELLED, StopReason.ERROR])
def test_memory_holds_what_the_return_says(tmp_path: Path, reason: StopReason, held: bool) -> None:
    world, agent_id, run_id = recorded(tmp_path, held=held)
    world.chain.termination.end(run_id, reason)
    assert world.run(run_id).run.stop_reason is reason
    assert "rung" in returns(world, agent_id)[-1]
    assert memory(world, agent_id) == OSLO
    check_settled(world, agent_id)


def test_an_end_that_is_overtaken_by_an_edit_of_the_block_is_decided_anew(tmp_path: Path) -> None:
    plain, agent_id, run_id = recorded(tmp_path)

    def edited() -> None:
        agent = plain.stores.agents.get(agent_id)
        assert agent is not None
        (block,) = plain.stores.blocks.get_many(agent.block_ids).values()
        changed = block.model_copy(update={"value": "Ann, by hand", "description": "Who it is"})
        plain.stores.writer.write(*plain.stores.blocks.change(block, changed, "t"), token="t")

    world = meanwhile(plain, edited, lambda: True)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert world.run(run_id).run.stop_reason is StopReason.CANCELLED
    assert memory(world, agent_id) == OSLO
    check_settled(world, agent_id)


def test_a_step_that_is_too_large_says_that_the_tools_changes_were_not_kept(tmp_path: Path) -> None:
    many = [("archival_memory_insert", {"content": f"fact {number}"}) for number in range(120)]
    world = World(data_in(tmp_path, in_turn(calls(*many, ("ring", {}), ("ring", {})), says("done"))))
    agent_id = world.make_agent(blocks={"human": "Ann"}, tools=("archival_memory_insert", "ring"))
    outcomes = iter((ToolOutcome(status="success", value="rung", blocks=OSLO), ToolOutcome(status="success", value="rung")))
    world.runner.does = lambda _: next(outcomes)
    run_id = world.send(agent_id, "hello")
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    assert MEMORY_TOO_MUCH in returns(world, agent_id)[-2]
    assert "rung" in returns(world, agent_id)[-1], "it changed nothing in memory"
    assert memory(world, agent_id) == {"human": "Ann"}
    check_settled(world, agent_id)


def test_an_end_is_not_kept_up_by_more_changes_than_it_has_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{RunTermination.__module__}.MOST_EDITS", 0)
    world, agent_id, run_id = recorded(tmp_path)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert "too many for one transaction" in returns(world, agent_id)[-1]
    assert '"status": "Failed"' in returns(world, agent_id)[-1]
    assert memory(world, agent_id) == {"human": "Ann"}
    check_settled(world, agent_id)
