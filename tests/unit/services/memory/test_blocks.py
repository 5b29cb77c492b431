"""Blocks alone and attached: filters, changes, and what a deletion takes along."""

from __future__ import annotations

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.agents.agent import UpdateAgent
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock, StoredBlock
from hibernaut.services.memory.blocks import BlockFilter
from tests.support.house import House


def make(house: House, label: str = "notes", value: str = "", **fields: object) -> StoredBlock:
    return house.services.blocks.create(CreateBlock.model_validate({"label": label, "value": value, **fields}))


def test_every_filter_admits_what_it_names(house: House) -> None:
    one = make(house, "one", "Apples", tags=["a", "b"], description="Fruit", project_id="p", is_template=True, template_name="T")
    two = make(house, "two", "pears", tags=["b"])
    make(house, "unseen", hidden=True)
    for _ in range(2):
        house.agent(block_ids=[one.id])
    for wanted, found in (
        (BlockFilter(), [one, two]),
        (BlockFilter(label="two"), [two]),
        (BlockFilter(label_search="ON"), [one]),
        (BlockFilter(description_search="fru"), [one]),
        (BlockFilter(value_search="APP"), [one]),
        (BlockFilter(tags=["a", "b"]), [one, two]),
        (BlockFilter(tags=["a", "b"], match_all_tags=True), [one]),
        (BlockFilter(project_id="p"), [one]),
        (BlockFilter(templates_only=True), [one]),
        (BlockFilter(name="T"), [one]),
        (BlockFilter(identity_id="identity-1"), []),
        (BlockFilter(connected_gt=1), [one]),
        (BlockFilter(connected_gt=2), []),
        (BlockFilter(connected_lt=2), [two]),
        (BlockFilter(connected_lt=0), []),
        (BlockFilter(connected_eq=[0, 7]), [two]),
    ):
        assert house.services.blocks.list(wanted, Page()) == found, wanted
    assert len(house.services.blocks.list(BlockFilter(hidden=True), Page())) == 3
    assert house.services.blocks.count() == 3


def test_an_update_applies_what_is_not_null_beyond_the_limit_too(house: House) -> None:
    block = make(house, value="old", limit=5, description="d")
    after = house.services.blocks.update(block.id, BlockUpdate(value="longer than five", description=None), user="user-1")
    assert (after.value, after.description, after.limit, after.last_updated_by_id) == ("longer than five", "d", 5, "user-1")
    assert house.services.blocks.retrieve(block.id) == after.model_copy(update={"version": 2})
    assert house.services.blocks.update(block.id, BlockUpdate()).version == 2


def test_a_label_that_an_agent_has_already_is_not_given_twice(house: House) -> None:
    block = make(house)
    house.agent(block_ids=[block.id], memory_blocks=[{"label": "human", "value": ""}])
    with pytest.raises(Conflict):
        house.services.blocks.update(block.id, BlockUpdate(label="human"))
    assert house.services.blocks.update(block.id, BlockUpdate(label="other")).label == "other"
    assert house.services.blocks.list(BlockFilter(label="other"), Page())[0].id == block.id


def test_a_deleted_block_leaves_every_agent(house: House) -> None:
    block = make(house)
    agents = [house.agent(block_ids=[block.id]) for _ in range(3)]
    house.services.blocks.delete(block.id)
    assert [house.stored(agent.id).block_ids for agent in agents] == [[], [], []]
    assert house.stores.blocks.agents_of(block.id) == []
    for gone in (house.services.blocks.delete, house.services.blocks.retrieve):
        with pytest.raises(NotFound, match=f"Block with id '{block.id}' not found"):
            gone(block.id)


def test_an_agent_that_changes_while_its_block_is_deleted_keeps_the_change_and_loses_the_block(contested: House) -> None:
    block, kept = make(contested), make(contested, "kept")
    agents = [contested.agent(block_ids=[kept.id, block.id]).id for _ in range(3)]
    contested.services.agents.delete(contested.agent(block_ids=[block.id]).id)

    def overtake() -> None:
        contested.services.agents.updates.update(agents[1], UpdateAgent(description="d"))

    contested.table.by = lambda: setattr(contested.table, "by", overtake)  # before the write that follows the block's deletion
    contested.services.blocks.delete(block.id)
    after = [contested.stored(agent_id) for agent_id in agents]
    assert [agent.block_ids for agent in after] == [[kept.id]] * 3
    assert [agent.description for agent in after] == [None, "d", None]
    assert [agent.version for agent in after] == [2, 3, 2]
    assert contested.stores.blocks.agents_of(block.id) == []


def test_an_edit_that_was_overtaken_by_another_keeps_both(contested: House) -> None:
    block, blocks = make(contested), contested.services.blocks
    contested.table.by = lambda: blocks.update(block.id, BlockUpdate(description="d"))
    blocks.update(block.id, BlockUpdate(value="v"))
    after = blocks.retrieve(block.id)
    assert (after.value, after.description, after.version) == ("v", "d", 3)


def test_an_agents_block_is_found_by_its_label(house: House) -> None:
    agent = house.agent(memory_blocks=[{"label": "sys/notes", "value": "x"}])
    assert house.services.agents.block(agent.id, "sys/notes").value == "x"
    with pytest.raises(NotFound, match=f"No block with label 'y' found for agent '{agent.id}'"):
        house.services.agents.block(agent.id, "y")
