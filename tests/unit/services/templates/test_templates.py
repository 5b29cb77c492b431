"""Templates when requests race or workers die, and what a deletion leaves."""

from __future__ import annotations

import pytest

from hibernaut.schemas.agents.template import CreateTemplateAgents, SaveTemplate, TemplateFromAgent, UpdateTemplate
from hibernaut.schemas.errors import Conflict, InvalidArgument
from hibernaut.services.agents.agents import AgentFilter
from hibernaut.services.templates import templates
from hibernaut.store.templates import template_keys
from tests.support.house import TENANT, House

BIG = "x" * 100_000
"""A text that does not fit into an item, so that the document is a blob."""


def made(house: House, name: str = "guide", **fields: object) -> str:
    agent = house.agent(**{"memory_blocks": [{"label": "human", "value": BIG}], **fields})
    return house.services.templates.create(TemplateFromAgent(type="agent", agent_id=agent.id, name=name)).id


def test_of_two_templates_with_one_name_the_second_is_refused(contested: House) -> None:
    agent = contested.agent()
    request = TemplateFromAgent(type="agent", agent_id=agent.id, name="guide")
    contested.table.by = lambda: contested.services.templates.create(request)
    with pytest.raises(Conflict, match="guide"):
        contested.services.templates.create(request)


def test_two_saves_at_once_make_two_versions(contested: House) -> None:
    made(contested)
    save = contested.services.templates.save
    contested.table.by = lambda: save("guide", SaveTemplate(message="first"))
    assert save("guide", SaveTemplate(message="second")).latest_version == "3"


def test_a_deleted_template_leaves_nothing(house: House) -> None:
    template_id = made(house)
    document = house.services.agent_documents.export(house.agent().id).model_dump(mode="json")
    house.services.templates.update("guide", UpdateTemplate(agent_file_json=document))
    house.services.templates.save("guide", SaveTemplate())
    house.services.templates.delete("guide")
    assert house.table.query(template_keys.template(TENANT, template_id).pk) == []
    assert house.table.get(template_keys.template_name(TENANT, "guide")) is None
    assert made(house) != template_id


def test_a_template_has_so_many_versions(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "MOST_VERSIONS", 2)
    made(house)
    house.services.templates.save("guide", SaveTemplate())
    with pytest.raises(InvalidArgument, match="at most 2 versions"):
        house.services.templates.save("guide", SaveTemplate())


def test_prototypes_that_a_dead_worker_has_left_go_with_the_next_migration(house: House) -> None:
    template_id = made(house)
    (agent_id,) = house.services.templates.create_agents("guide", CreateTemplateAgents()).agent_ids
    left = house.agent(tags=[f"prototype-of:{template_id}"], hidden=True)
    house.services.templates.save("guide", SaveTemplate(migrate_agents=True))
    assert [state.id for state in house.services.agents.some([left.id, agent_id], frozenset())] == [agent_id]
    assert house.services.agents.count(AgentFilter(tags=[f"prototype-of:{template_id}"], hidden=True)) == 0


def test_blocks_that_other_agents_share_are_not_deleted(house: House) -> None:
    made(house)
    (agent_id,) = house.services.templates.create_agents("guide", CreateTemplateAgents()).agent_ids
    shared = house.stored(agent_id).block_ids[0]
    other = house.agent(block_ids=[shared])
    bare = house.services.agent_documents.export(house.agent().id).model_dump(mode="json")
    house.services.templates.update("guide", UpdateTemplate(agent_file_json=bare))
    how = SaveTemplate(migrate_agents=True, block_reconciliation_strategy="reconcile-all")
    house.services.templates.save("guide", how)
    assert (house.stored(agent_id).block_ids, house.stored(other.id).block_ids) == ([], [shared])
    assert house.services.blocks.retrieve(shared).value == BIG
