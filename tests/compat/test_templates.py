"""Templates through the SDK (Letta V1 API, API 2.17): versions, agents of a version, and migration."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from letta_client import BadRequestError, ConflictError, Letta, NotFoundError

from tests.compat.conftest import Make

IDENTITY = "identity-00000000-0000-4000-8000-000000000000"


def source(new_agent: Make, **fields: Any) -> Any:
    blocks = [{"label": "human", "value": "My name is {{name}}, {{other}}."}, {"label": "persona", "value": "Kind."}]
    return new_agent(**{"memory_blocks": blocks, "tags": ["made"], "system": "Be brief.", **fields})


def values(client: Letta, agent_id: str) -> dict[str, str]:
    return {str(block.label): block.value for block in client.agents.retrieve(agent_id, include=["agent.blocks"]).blocks}


@pytest.mark.manifest("templates.create", "templates.agents", "templates.delete")
@pytest.mark.deployed
def test_agents_are_made_from_a_template(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = source(new_agent)
    client.agents.messages.create(agent.id, input="hi")
    made = client.templates.create(type="agent", agent_id=agent.id, name="guide")
    assert (made.name, made.latest_version, made.template_deployment_slug) == ("guide", "1", "default/guide:1")
    user = http.put("/v1/identities", json={"identifier_key": "t", "name": "T", "identity_type": "user"}).json()["id"]
    begun = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi Ann."}]
    found = client.templates.agents.create(
        "guide:latest",
        agent_name="Ann's guide",
        identity_ids=[user],
        initial_message_sequence=begun,
        memory_variables={"name": "Ann"},
        tags=["more"],
        tool_variables={"KEY": "secret"},
    )
    (agent_id,) = found.agent_ids
    shown = client.agents.retrieve(agent_id, include=["agent.tags", "agent.identities", "agent.secrets"])
    assert (shown.name, shown.system, sorted(shown.tags)) == ("Ann's guide", "Be brief.", ["made", "more"])
    assert ([one.id for one in shown.identities], [one.key for one in shown.secrets]) == ([user], ["KEY"])
    assert (shown.base_template_id, shown.deployment_id) == (made.id, found.deployment_id)
    assert values(client, agent_id)["human"] == "My name is Ann, {{other}}."
    texts = [row.content for row in client.agents.messages.list(agent_id) if row.message_type != "system_message"]
    assert texts == ["Hello.", "Hi Ann."]
    assert [one.id for one in client.agents.list(base_template_id=made.id)] == [agent_id]
    assert client.agents.messages.create(agent_id, input="hi").stop_reason.stop_reason == "end_turn"
    with pytest.raises(ConflictError):
        client.templates.create(type="agent", agent_id=agent.id, name="guide")
    with pytest.raises(NotFoundError):
        client.templates.agents.create("guide", identity_ids=[IDENTITY])
    assert client.templates.delete("guide").success
    for gone in (lambda: client.templates.delete("guide"), lambda: client.templates.agents.create("guide:1")):
        with pytest.raises(NotFoundError):
            gone()
    assert client.agents.retrieve(agent_id).id == agent_id


@pytest.mark.manifest("templates.save", "templates.update", "templates.rollback")
@pytest.mark.deployed
def test_versions_are_saved_and_rolled_back(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    files = [http.get(f"/v1/agents/{source(new_agent, system=system).id}/export").json() for system in ("One.", "Two.", "Three.")]
    made = client.templates.create(type="agent_file", agent_file=files[0], name="versions")

    def system(version: str) -> str:
        (agent_id,) = client.templates.agents.create(f"versions:{version}").agent_ids
        return str(client.agents.retrieve(agent_id).system)

    assert client.templates.update("versions", agent_file_json=files[1]).success
    assert [system(version) for version in ("latest", "1", "current")] == ["One.", "One.", "Two."]
    saved = client.templates.save("versions", message="the second")
    assert (saved.id, saved.latest_version, saved.description) == (made.id, "2", "the second")
    assert system("latest") == "Two."
    assert client.templates.rollback("versions", version="1").success
    assert (system("dev"), system("latest")) == ("One.", "Two.")
    client.templates.update("versions", agent_file_json=files[2], save_existing_changes=True)
    assert [system(version) for version in ("3", "latest", "dev")] == ["One.", "One.", "Three."]
    for refused, error in (
        (lambda: client.templates.rollback("versions", version="current"), BadRequestError),
        (lambda: client.templates.rollback("versions", version="9"), NotFoundError),
        (lambda: client.templates.agents.create("versions:9"), NotFoundError),
        (lambda: client.templates.update("versions", agent_file_json={"agents": []}), BadRequestError),
        (lambda: client.templates.update("nothing", agent_file_json=files[0]), NotFoundError),
    ):
        with pytest.raises(error):
            refused()


@pytest.mark.manifest("templates.migrate")
@pytest.mark.deployed
def test_agents_are_migrated_to_a_saved_version(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    client.templates.create(type="agent", agent_id=source(new_agent).id, name="moving")
    (agent_id,) = client.templates.agents.create("moving", memory_variables={"name": "Ann"}, tool_variables={"K": "v"}).agent_ids
    client.agents.messages.create(agent_id, input="hi")
    blocks = [{"label": "human", "value": "New."}, {"label": "goals", "value": "Help."}]
    later = source(new_agent, system="Be kind.", memory_blocks=blocks, include_base_tools=False)
    before = http.get("/v1/agents/count", params={"show_hidden_agents": True}).json()
    client.templates.update("moving", agent_file_json=http.get(f"/v1/agents/{later.id}/export").json())
    client.templates.save("moving", migrate_agents=True)
    shown = client.agents.retrieve(agent_id, include=["agent.tools", "agent.secrets"])
    assert (shown.system, shown.tools, [one.key for one in shown.secrets]) == ("Be kind.", [], ["K"])
    assert values(client, agent_id) == {"human": "My name is Ann, {{other}}.", "persona": "Kind.", "goals": "Help."}
    client.templates.save(
        "moving", migrate_agents=True, preserve_core_memories_on_migration=False, block_reconciliation_strategy="reconcile-all"
    )
    assert values(client, agent_id) == {"human": "New.", "goals": "Help."}
    told = http.get("/v1/templates/moving/migration").json()
    assert (told["status"], told["version"], told["agents"], told["migrated"]) == ("completed", "3", 1, 1)
    assert len(list(client.agents.messages.list(agent_id))) > 2
    assert http.get("/v1/agents/count", params={"show_hidden_agents": True}).json() == before, "no prototype stays"


def listed(http: httpx.Client, query: str) -> tuple[list[str], bool]:
    """The names of a page of the list, and whether more follow."""
    page = http.get(f"/v1/templates?{query}").json()
    return [template["name"] for template in page["templates"]], page["has_next_page"]


@pytest.mark.manifest("templates.list", "templates.retrieve")
@pytest.mark.deployed
def test_templates_are_listed_and_say_what_they_ask_for(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = source(new_agent)
    names = ["listed-a", "listed-b", "listed-c"]
    for name in reversed(names):
        client.templates.create(type="agent", agent_id=agent.id, name=name)
    assert listed(http, "search=listed-&limit=3") == (names, False)
    assert listed(http, "after=listed-a&limit=1") == (["listed-b"], True)
    assert listed(http, "after=listed&offset=1&limit=1") == (["listed-b"], True)
    assert listed(http, "search=listed-&offset=2&limit=1") == (["listed-c"], False)
    assert listed(http, "search=STED-&limit=2") == (["listed-a", "listed-b"], True)
    assert listed(http, "search=sted&exact=true") == ([], False)
    assert listed(http, "name=listed-b") == listed(http, "search=listed-b&exact=true") == (["listed-b"], False)
    document = http.get(
        f"/v1/agents/{new_agent(memory_blocks=[{'label': 'human', 'value': '{{a}} {{b}} {{a}}'}]).id}/export"
    ).json()
    client.templates.update("listed-b", agent_file_json=document)
    found = http.get("/v1/templates/listed-b").json()
    assert (found["name"], found["version"], found["variables"]) == ("listed-b", "1", ["name", "other"])
    assert found["agents"] == [agent.name]
    assert http.get("/v1/templates/listed-b:current").json()["variables"] == ["a", "b"]
    client.templates.delete("listed-b")
    assert listed(http, "after=listed&search=listed-&limit=2") == (["listed-a", "listed-c"], False)
    assert http.get("/v1/templates/listed-b").status_code == 404
    assert [http.get(f"/v1/templates?{query}").status_code for query in ("limit=0", "limit=101", "after=%20", "offset=-1")] == [
        422
    ] * 4
