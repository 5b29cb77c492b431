"""Every change that a request makes to an agent or a block names the request's API key, whichever record the request was
about.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.agents.group import GroupCreate, GroupUpdate
from hibernaut.schemas.agents.identity import CreateIdentity, UpdateIdentity
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.schemas.tools.tool import ToolCreate
from hibernaut.services.memory.block_history import VersionPage
from tests.support.house import House

KEY = "key-00000000-0000-4000-8000-000000000001"
SOURCE = "def knock() -> str:\n    '''Knock.'''\n    return 'x'\n"


def identity(house: House, agent: StoredAgent) -> None:
    identities, block_id = house.services.identities, agent.block_ids[0]
    linked = {"agent_ids": [agent.id], "block_ids": [block_id]}
    named = {"identifier_key": "ann", "name": "Ann", "identity_type": "user"}
    made = identities.create(CreateIdentity.model_validate({**named, **linked}), key_id=KEY)
    identities.links.detach_agent(made.id, agent.id, key_id=KEY)
    identities.links.detach_block(made.id, block_id, key_id=KEY)
    identities.update(made.id, UpdateIdentity.model_validate(linked), key_id=KEY)
    identities.upsert(CreateIdentity.model_validate({**named, "agent_ids": [], "block_ids": []}), key_id=KEY)
    identities.links.attach_agent(made.id, agent.id, key_id=KEY)
    identities.links.attach_block(made.id, block_id, key_id=KEY)
    identities.delete(made.id, key_id=KEY)


def group(house: House, agent: StoredAgent) -> None:
    shared = house.services.blocks.create(CreateBlock(label="plans", value="x"), key_id=KEY)
    config = {"manager_type": "supervisor", "manager_agent_id": agent.id}
    asked = {"agent_ids": [house.agent().id], "description": "d", "shared_block_ids": [shared.id]}
    made = house.services.groups.create(GroupCreate.model_validate({**asked, "manager_config": config}), key_id=KEY)
    other = {"manager_type": "supervisor", "manager_agent_id": house.agent().id}
    house.services.groups.update(made.id, GroupUpdate.model_validate({"manager_config": other}), key_id=KEY)
    house.services.groups.update(made.id, GroupUpdate.model_validate({"manager_config": config}), key_id=KEY)
    house.services.groups.delete(made.id, key_id=KEY)


def deleted_parts(house: House, agent: StoredAgent) -> None:
    updates = house.services.agents.updates
    tool = house.services.tools.save(ToolCreate(source_code=SOURCE))
    folder = house.services.folders.create(CreateFolder(name="papers"))
    block = house.services.blocks.create(CreateBlock(label="plans", value="x"), key_id=KEY)
    updates.attach_tool(agent.id, tool.id, key_id=KEY)
    updates.attach_folder(agent.id, folder.id, key_id=KEY)
    updates.attach_block(agent.id, block.id, key_id=KEY)
    house.services.tools.delete(tool.id, key_id=KEY)
    house.services.folders.delete(folder.id, key_id=KEY)
    house.services.blocks.delete(block.id, key_id=KEY)


def sleeper(house: House, agent: StoredAgent) -> None:
    house.services.agents.updates.update(agent.id, UpdateAgent(enable_sleeptime=True), key_id=KEY)
    (group_id,) = house.stores.groups.managed_by(agent.id)
    found = house.stores.groups.get(group_id)
    assert found is not None
    house.services.agents.delete(found.agent_ids[0], key_id=KEY)


@pytest.mark.parametrize("change", [identity, group, deleted_parts, sleeper])
def test_a_change_beside_names_the_key_of_its_request(change: Callable[[House, StoredAgent], None], house: House) -> None:
    agent = house.agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    change(house, agent)
    seen = house.services.agent_history.page(agent.id, after=1, before=None, limit=50, descending=True)
    versions = [*seen, *house.services.block_history.page(agent.block_ids[0], VersionPage(after=1))]
    assert versions
    assert {each.by.key_id if each.by else None for each in versions} == {KEY}
