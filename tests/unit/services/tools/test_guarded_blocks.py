"""Read-only blocks and limits hold for custom tools as for the agent's own: in a step, when its run is ended, and when the API
runs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from hibernaut.ports.tools.tool_runner import ToolOutcome
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool import ToolCreate
from hibernaut.services.tool_calls.tool_execution import MEMORY_REFUSED
from tests.protocol.staged import RING, Died, meanwhile, returns
from tests.support.house import House
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_settled
from tests.support.world import World, data_in

BLOCKS = {"human": "Ann", "locked": "Fixed", "small": "12345678"}
REFUSED = [
    ({"human": "Bob", "locked": "Changed"}, "block `locked` is read-only"),
    ({"human": "Bob", "small": "123456789"}, "its limit is 6"),
]
KEPT = [{"human": "Bob", "locked": "Fixed", "small": "1234567"}, {"small": "12345678", "elsewhere": "x"}]
REWRITE = '''
def rewrite(values: dict, agent_state: "AgentState") -> str:
    """Write blocks.

    Args:
        values: Texts by label.
    """
    for label, value in values.items():
        agent_state.memory.update_block_value(label, value)
    return "rewritten"
'''


def opened(folder: Path, values: Mapping[str, str]) -> tuple[World, str]:
    """An agent with a block of each kind, one of them over its limit already, and a tool that writes `values` into its copy."""
    world = World(data_in(folder, in_turn(RING, says("done"))))
    now = world.clock.now()
    limits = {"human": {}, "locked": {"read_only": True}, "small": {"limit": 6}}
    blocks = [
        StoredBlock(id=world.ids.new("block"), label=label, value=value, created_at=now, updated_at=now, **limits[label])
        for label, value in BLOCKS.items()
    ]
    token = world.ids.token()
    changes = [change for block in blocks for change in world.stores.blocks.create(block, token)]
    world.stores.writer.write(*changes, token=token)
    world.runner.does = lambda _: ToolOutcome(status="success", value="rung", blocks=dict(values))
    return world, world.make_agent(blocks=blocks, tools=("ring",))


def memory(world: World, agent_id: str) -> dict[str, str]:
    return {label: world.block(agent_id, label).value for label in BLOCKS}


@pytest.mark.parametrize(("values", "why"), REFUSED)
def test_a_step_keeps_nothing_of_what_a_tool_may_not_write_and_tells_the_model_why(
    tmp_path: Path, values: Mapping[str, str], why: str
) -> None:
    world, agent_id = opened(tmp_path, values)
    world.send(agent_id, "hello")
    (told,) = (answer for row in world.log(agent_id) for answer in row.tool_returns)
    assert told.status == "error"
    assert MEMORY_REFUSED in str(told.func_response)
    assert why in str(told.func_response)
    assert memory(world, agent_id) == BLOCKS
    check_settled(world, agent_id)


@pytest.mark.parametrize("values", KEPT)
def test_a_step_keeps_what_a_tool_may_write(tmp_path: Path, values: Mapping[str, str]) -> None:
    world, agent_id = opened(tmp_path, values)
    world.send(agent_id, "hello")
    assert "rung" in returns(world, agent_id)[-1]
    assert memory(world, agent_id) == BLOCKS | {label: value for label, value in values.items() if label in BLOCKS}


@pytest.mark.parametrize(("values", "why"), REFUSED)
def test_a_run_that_is_ended_keeps_nothing_of_it_either(tmp_path: Path, values: Mapping[str, str], why: str) -> None:
    world, agent_id = opened(tmp_path, values)

    def dies() -> None:
        raise Died

    def has_result() -> bool:
        claim = world.stores.runs.claim(world.run(run_id), "call-0-ring") if world.runner.effects else None
        return claim is not None and claim.result is not None

    run_id = world.accept(agent_id, "hello").run_id
    with suppress(Died):
        meanwhile(world, dies, has_result).advance(run_id)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert why in returns(world, agent_id)[-1]
    assert memory(world, agent_id) == BLOCKS
    check_settled(world, agent_id)


@pytest.mark.parametrize(("values", "why"), REFUSED)
def test_a_tool_that_the_api_runs_is_refused_the_same(house: House, values: Mapping[str, str], why: str) -> None:
    house.services.tools.save(ToolCreate(source_code=REWRITE))
    blocks = [{"label": label, "value": value} for label, value in BLOCKS.items()]
    blocks[1] |= {"read_only": True}
    blocks[2] |= {"limit": 6}
    agent = house.agent(tools=["rewrite"], memory_blocks=blocks)
    result = house.services.tools.runs.run_attached(agent.id, "rewrite", {"values": dict(values)})
    assert (result.status, result.func_return) == ("error", None)
    assert why in "".join(result.stderr or [])
    assert {label: house.services.agents.block(agent.id, label).value for label in BLOCKS} == BLOCKS
