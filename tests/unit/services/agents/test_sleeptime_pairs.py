"""Agents and their sleep-time agents: made in one transaction, sharing blocks, parted when one of them is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Check
from hibernaut.schemas.agents.agent import AgentType, CreateAgentRequest, UpdateAgent
from hibernaut.schemas.agents.group import ManagerType
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.services.agents.sleeptime_pairs import LABEL
from hibernaut.services.memory.blocks import Blocks
from tests.support.conversations import records_of
from tests.support.groups import groups_of
from tests.support.scripted_model import in_turn, says
from tests.support.sleepers import agents_of, group_in, pair_in, paired
from tests.support.tables import CountingTable
from tests.support.world import World, data_in


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(data_in(tmp_path, in_turn(says("Yes."))))


def labels(world: World, agent_id: str) -> list[str | None]:
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    return [block.label for block in records_of(world).blocks_of(agent)]


def test_a_pair_shares_the_blocks_of_the_agent_and_has_a_group(world: World) -> None:
    pair = pair_in(world)
    main, sleeper = (world.stores.agents.get(each) for each in (pair.main, pair.sleeper))
    assert main is not None
    assert sleeper is not None
    assert (sleeper.name, sleeper.agent_type, sleeper.llm_config) == ("Ada-sleeptime", AgentType.SLEEPTIME, main.llm_config)
    assert labels(world, pair.sleeper) == [LABEL, "human"]
    assert set(main.block_ids) < set(sleeper.block_ids)
    group = group_in(world, pair)
    assert (group.manager_type, group.manager_agent_id, group.agent_ids) == (ManagerType.SLEEPTIME, pair.main, [pair.sleeper])
    assert (group.sleeptime_agent_frequency, group.turns_counter, group.last_processed_message_id) == (5, -1, None)


@pytest.mark.parametrize("later", [False, True])
def test_a_pair_is_made_in_one_transaction(tmp_path: Path, later: bool) -> None:
    writes: list[str] = []

    def noted(_number: int, call: str) -> None:
        if call == "before write":
            writes.append(call)

    world = World(data_in(tmp_path, in_turn(says("Yes."))), wrap=lambda table: CountingTable(table, noted))
    agent = world.make_agent(blocks={"human": ""}) if later else None
    writes.clear()
    if agent is None:
        pair_in(world)
    else:
        agents_of(world).updates.update(agent, UpdateAgent(enable_sleeptime=True))
    assert len(writes) == 1


def test_a_voice_agents_sleeper_has_a_buffer_and_no_frequency(world: World) -> None:
    request = CreateAgentRequest(agent_type=AgentType.VOICE_CONVO, model="test/scripted", enable_sleeptime=True)
    main = agents_of(world).creation.create(request)
    group = world.stores.groups.get(main.managed_group_id or "")
    assert group is not None
    assert (group.manager_type, group.sleeptime_agent_frequency) == (ManagerType.VOICE_SLEEPTIME, None)
    assert (group.max_message_buffer_length, group.min_message_buffer_length) == (30, 15)
    (sleeper,) = world.stores.agents.get_many(group.agent_ids).values()
    assert sleeper.agent_type is AgentType.VOICE_SLEEPTIME


def test_turning_sleep_time_on_again_takes_the_pair_that_is_there(world: World) -> None:
    pair = pair_in(world)
    updates = agents_of(world).updates
    assert updates.update(pair.main, UpdateAgent(enable_sleeptime=False)).enable_sleeptime is False
    world.send(pair.main, "not counted")
    assert group_in(world, pair).turns == 0
    assert updates.update(pair.main, UpdateAgent(enable_sleeptime=True)).managed_group_id == pair.group
    world.send(pair.main, "counted")
    assert group_in(world, pair).turns == 1


def test_a_label_of_the_sleepers_own_block_is_refused_and_leaves_nothing(world: World) -> None:
    block = CreateBlock(label=LABEL, value="mine")
    request = CreateAgentRequest(model="test/scripted", enable_sleeptime=True, memory_blocks=[block])
    with pytest.raises(Conflict, match=LABEL):
        agents_of(world).creation.create(request)
    assert (world.stores.agents.rows(), world.stores.groups.listed().all(), Blocks(records_of(world)).count()) == ([], [], 0)


def test_a_block_that_is_attached_later_is_shared_and_one_that_is_detached_stays(world: World) -> None:
    pair = pair_in(world)
    block = Blocks(records_of(world)).create(CreateBlock(label="later", value=""))
    updates = agents_of(world).updates
    updates.attach_block(pair.main, block.id)
    assert labels(world, pair.sleeper)[-1] == "later"
    updates.detach_block(pair.main, block.id)
    assert (labels(world, pair.main), labels(world, pair.sleeper)[-1]) == (["human"], "later")


def test_the_sleeper_goes_with_its_agent(world: World) -> None:
    pair = pair_in(world)
    world.send(pair.main, "hello")
    agents_of(world).delete(pair.main)
    assert world.stores.agents.get_many([pair.main, pair.sleeper]) == {}
    assert (world.stores.groups.get(pair.group), world.stores.groups.listed().all()) == (None, [])


def test_the_agent_stays_without_its_sleeper(world: World) -> None:
    pair = pair_in(world, every=1)
    world.send(pair.main, "hello")
    agents_of(world).delete(pair.sleeper)
    main = world.stores.agents.get(pair.main)
    assert main is not None
    assert (main.enable_sleeptime, main.managed_group_id) == (False, None)
    assert world.stores.groups.get(pair.group) is None
    assert world.response(world.send(pair.main, "again")).usage.run_ids is None
    world.sweep()
    assert paired(world, pair.main).sleeper != pair.sleeper


def test_a_group_that_is_deleted_leaves_both_agents_and_is_made_anew_on_request(world: World) -> None:
    pair = pair_in(world, every=1, idle=60)
    world.send(pair.main, "hello")
    groups_of(world).delete(pair.group)
    assert len(world.stores.agents.get_many([pair.main, pair.sleeper])) == 2
    world.clock.sleep(120)
    world.sweep()
    assert not [item for item in world.all_stores.due.all() if pair.group in item.pk], "what was due for it is gone"
    assert paired(world, pair.main).group != pair.group


def test_a_deletion_that_breaks_off_leaves_a_whole_agent(world: World) -> None:
    """The sleeper is deleted first: an agent without one is complete, a sleeper without an agent is not."""
    pair = pair_in(world)
    agents = agents_of(world)
    agents._deletion.conversations.delete_all = _dies  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        agents.delete(pair.main)
    left = world.stores.agents.get_many([pair.main, pair.sleeper])
    assert pair.main in left
    agents_of(world).delete(pair.main)
    assert world.stores.agents.get_many([pair.main, pair.sleeper]) == {}


def _dies(_agent_id: str) -> None:
    raise RuntimeError


def test_no_condition_names_an_item_that_the_transaction_writes(world: World) -> None:
    pair = pair_in(world)
    main = world.stores.agents.get(pair.main)
    assert main is not None
    _, changes = agents_of(world).creation.partner(main, records_of(world).blocks_of(main), None)
    keys = [change.key for change in changes]
    assert len(keys) == len(set(keys))
    assert any(isinstance(change, Check) for change in changes), "the shared blocks must be there"
