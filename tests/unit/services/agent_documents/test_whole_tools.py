"""A tool keeps all that is known of it when its agent is exported, imported, forked, or made from a template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hibernaut.domain.tools.mcp.mcp_tools import McpFacts, facts_of
from hibernaut.schemas.agents.agent_file import ExportAgentRequest, ImportOptions
from hibernaut.schemas.agents.agent_version import ForkAgent
from hibernaut.schemas.agents.template import CreateTemplateAgents, TemplateFromAgent
from hibernaut.schemas.runs.capture import CaptureMessages
from hibernaut.schemas.tools.package_set import PackagePin, PackageSet
from hibernaut.schemas.tools.tool import PipRequirement, StoredTool, ToolType
from tests.support.agent_file_parts import SCHEMA, SOURCE
from tests.support.house import House, house_in

PIN = PackagePin(name="pad", version="1.0", file="pad-1.0-py3-none-any.whl", sha256="a" * 64)
KNOCK = StoredTool(
    id="tool-0f0e0d0c-0000-4000-8000-000000000001",
    name="knock",
    description="Knock at a door.",
    source_type="python",
    source_code=SOURCE,
    json_schema=SCHEMA,
    args_json_schema=SCHEMA["parameters"],
    tags=["doors"],
    return_char_limit=123,
    pip_requirements=[PipRequirement(name="pad", version="1.0")],
    default_requires_approval=True,
    enable_parallel_execution=True,
    metadata_={"timeout_seconds": 7, "own": {"more": [1]}},
    packages=PackageSet(digest="b" * 64, target="elsewhere", size=1, pins=[PIN]),
)
FACTS = McpFacts("mcp_server-0f0e0d0c-0000-4000-8000-000000000003", "birds", "list birds", fingerprint="f" * 16, state="changed")
BIRDS = StoredTool(
    id="tool-0f0e0d0c-0000-4000-8000-000000000002",
    tool_type=ToolType.EXTERNAL_MCP,
    name="list_birds",
    json_schema={"name": "list_birds", "parameters": {"type": "object", "properties": {}}},
    tags=["mcp:birds"],
    default_requires_approval=True,
    enable_parallel_execution=True,
    metadata_={"timeout_seconds": 9, **FACTS.metadata()},
)
OF_THE_PLACE = {"id", "created_at", "created_by_id", "last_updated_by_id", "version", "packages"}


def with_tools(house: House) -> str:
    for each in (KNOCK, BIRDS):
        house.stores.writer.write(*house.stores.tools.create(each, each.id))
    return house.agent(name="Ada", model="hibernaut/demo", tool_ids=[KNOCK.id, BIRDS.id], include_base_tools=False).id


def facts(tool: StoredTool) -> dict[str, Any]:
    found = tool.model_dump(mode="json", exclude=OF_THE_PLACE)
    return {**found, "metadata_": {name: value for name, value in (tool.metadata_ or {}).items() if name != "tool_hash"}}


def both(house: House, agent_id: str) -> tuple[StoredTool, StoredTool]:
    found = {tool.name: tool for tool in house.stores.tools.get_many(house.stored(agent_id).tool_ids).values()}
    return found["knock"], found["list_birds"]


def file_of(house: House, agent_id: str) -> Any:
    return house.services.agent_documents.export(agent_id, ExportAgentRequest()).model_dump(mode="json")


def test_on_another_server(house: House, tmp_path: Path) -> None:
    document = file_of(house, with_tools(house))
    with house_in(tmp_path / "other") as other:
        (agent_id,) = other.services.agent_documents.import_(document).agent_ids
        knock, birds = both(other, agent_id)
        assert facts(knock) == facts(KNOCK)
        moved = McpFacts("", FACTS.server_name, FACTS.tool_name)  # the server of this name there is another record
        assert facts_of(birds) == moved
        assert facts(birds) == {**facts(BIRDS), "metadata_": {"timeout_seconds": 9, **moved.metadata()}}


def test_on_the_same_server(house: House) -> None:
    agent_id = with_tools(house)
    (copy,) = house.services.agent_documents.import_(file_of(house, agent_id), ImportOptions()).agent_ids
    knock, birds = both(house, copy)
    assert (facts(knock), knock.packages, knock.id) == (facts(KNOCK), KNOCK.packages, KNOCK.id)
    assert (facts(birds), birds.id) == (facts(BIRDS), BIRDS.id)


def test_in_a_fork_and_in_an_agent_of_a_template(house: House) -> None:
    agent_id = with_tools(house)
    templates = house.services.templates
    template = templates.create(TemplateFromAgent(type="agent", agent_id=agent_id, name="doors"))
    (made,) = templates.create_agents(f"{template.name}:latest", CreateTemplateAgents()).agent_ids
    said = {"provider": "other", "model": "other", "request_messages": [], "response_dict": {"content": "Hello."}}
    house.services.captures.capture(agent_id, CaptureMessages.model_validate(said))
    last = list(house.stores.conversations.page(agent_id))[-1]
    fork = house.services.agent_forks.fork(agent_id, ForkAgent(message_id=last.id)).id
    for one in (made, fork):
        knock, birds = both(house, one)
        assert (facts(knock), knock.packages, facts(birds)) == (facts(KNOCK), KNOCK.packages, facts(BIRDS))
