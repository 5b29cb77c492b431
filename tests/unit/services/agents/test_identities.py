"""Identities when requests race, break off, or meet what was deleted."""

from __future__ import annotations

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.agents.agent import UpdateAgent
from hibernaut.schemas.agents.identity import CreateIdentity, UpdateIdentity
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.services.agents.agents import AgentFilter
from hibernaut.services.agents.identities import IdentityFilter
from tests.support.house import House


def ann(**fields: object) -> CreateIdentity:
    return CreateIdentity.model_validate({"identifier_key": "ann", "name": "Ann", "identity_type": "user", **fields})


def test_of_two_creations_at_once_one_has_the_key(contested: House) -> None:
    identities = contested.services.identities
    contested.table.by = lambda: identities.create(ann(name="first"))
    with pytest.raises(Conflict, match="identifier key ann already exists"):
        identities.create(ann(name="second"))
    assert [one.name for one in identities.list(IdentityFilter(), Page())] == ["first"]


def test_of_two_upserts_at_once_both_name_one_identity(contested: House) -> None:
    identities = contested.services.identities
    contested.table.by = lambda: identities.upsert(ann(name="first"))
    assert identities.upsert(ann(name="second")).name == "second"
    assert [one.name for one in identities.list(IdentityFilter(), Page())] == ["second"]


def test_an_upsert_of_an_identity_that_is_just_deleted_makes_another(contested: House) -> None:
    identities = contested.services.identities
    gone = identities.create(ann())
    contested.table.by = lambda: identities.delete(gone.id)
    assert identities.upsert(ann(name="second")).id != gone.id
    assert identities.count() == 1


def test_two_changes_at_once_are_both_kept(contested: House) -> None:
    identities = contested.services.identities
    made = identities.create(ann())
    contested.table.by = lambda: identities.update(made.id, UpdateIdentity(identifier_key="anna"))
    identities.update(made.id, UpdateIdentity(name="Anna"))
    after = identities.get(made.id)
    assert (after.identifier_key, after.name) == ("anna", "Anna")


def test_an_identity_that_is_just_deleted_is_attached_to_nothing(contested: House) -> None:
    identities, agent = contested.services.identities, contested.agent()
    block = contested.services.blocks.create(CreateBlock(label="of", value=""))
    for attach in (
        lambda made: identities.links.attach_agent(made, agent.id),
        lambda made: identities.links.attach_block(made, block.id),
        lambda made: contested.services.agents.updates.update(agent.id, UpdateAgent(identity_ids=[made])),
        lambda made: contested.agent(identity_ids=[made]),
    ):
        made = identities.create(ann()).id
        contested.table.by = lambda made=made: identities.delete(made)
        with pytest.raises(NotFound, match=made):
            attach(made)
        assert (identities.agents_of(made), identities.blocks_of(made)) == ([], [])
    assert contested.services.agents.count(AgentFilter()) == 1


def test_what_is_attached_while_an_identity_is_deleted_is_detached(contested: House) -> None:
    identities, agent = contested.services.identities, contested.agent()
    made = identities.create(ann()).id
    contested.table.by = lambda: identities.links.attach_agent(made, agent.id)
    identities.delete(made)
    assert contested.stored(agent.id).identity_ids == []
    assert identities.agents_of(made) == []


def test_a_deletion_passes_over_an_agent_and_a_block_that_are_gone(house: House) -> None:
    identities, agent = house.services.identities, house.agent()
    block = house.services.blocks.create(CreateBlock(label="of", value=""))
    made = identities.create(ann(agent_ids=[agent.id], block_ids=[block.id])).id
    house.services.agents.delete(agent.id)
    house.services.blocks.delete(block.id)
    assert (identities.agents_of(made), identities.blocks_of(made)) == ([], [])
    identities.delete(made)
    assert identities.count() == 0


def test_an_identity_of_many_agents_is_named_in_each(house: House) -> None:
    identities = house.services.identities
    many = [identities.create(ann(identifier_key=f"key {number}")).id for number in range(70)]
    agent = house.agent(tags=[f"tag {number}" for number in range(70)], identity_ids=many)
    assert house.services.agents.retrieve(agent.id).identity_ids == many
    assert identities.agents_of(many[69]) == [agent.id]
    house.services.agents.updates.update(agent.id, UpdateAgent(identity_ids=many[:1]))
    assert [identities.agents_of(one) for one in many[:2]] == [[agent.id], []]
