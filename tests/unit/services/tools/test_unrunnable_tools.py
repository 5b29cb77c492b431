"""Tools that this server could never run: told where they are made, and where they came all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource
from hibernaut.schemas.tools.tool import NpmRequirement, PipRequirement, StoredTool, ToolCreate, ToolRunFromSource, ToolUpdate
from tests.support.house import House, house_in
from tests.support.scripted_model import ScriptedRunner

TYPED = "/** Does it. */ export function f() {}"
PACKAGES = [{"name": "left-pad"}]


class WithoutNode(ScriptedRunner):
    """A runner of Python alone."""

    def refusal(self, source_type: str | None) -> str | None:  # type: ignore[override]
        return "TypeScript tools need Node" if source_type == "typescript" else None


@pytest.fixture
def without_node(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path, runner=WithoutNode()) as opened:
        yield opened


def create(house: House, **fields: object) -> StoredTool:
    return house.services.tools.save(ToolCreate.model_validate({"source_code": TYPED, "source_type": "typescript", **fields}))


def test_without_node_no_tool_in_typescript_is_made_or_run(without_node: House) -> None:
    house, python = without_node, 'def f():\n    """Does it."""\n'
    with pytest.raises(InvalidArgument, match="need Node"):
        create(house)
    tool = create(house, source_code=python, source_type="python")
    with pytest.raises(InvalidArgument, match="need Node"):
        house.services.tools.update(tool.id, ToolUpdate(source_type="typescript"))
    with pytest.raises(InvalidArgument, match="need Node"):
        house.services.tools.runs.run_source(ToolRunFromSource(source_code=TYPED, source_type="typescript", args={}))
    assert house.services.tools.retrieve(tool.id).source_type == "python"


def test_packages_of_npm_are_refused(house: House) -> None:
    for request in ({"npm_requirements": PACKAGES}, {"npm_requirements": PACKAGES, "source_type": "python"}):
        with pytest.raises(InvalidArgument, match="left-pad"):
            create(house, **request)
    with pytest.raises(InvalidArgument, match="left-pad"):
        house.services.tools.update(create(house).id, ToolUpdate.model_validate({"npm_requirements": PACKAGES}))
    run = {"source_code": TYPED, "source_type": "typescript", "args": {}, "npm_requirements": PACKAGES}
    with pytest.raises(InvalidArgument, match="left-pad"):
        house.services.tools.runs.run_source(ToolRunFromSource.model_validate(run))


def test_a_tool_with_such_packages_that_an_agent_file_brought_returns_the_reason(house: House) -> None:
    schema = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    fields = {"name": "f", "source_code": TYPED, "source_type": "typescript", "json_schema": schema}
    tool = StoredTool(
        id="tool-0f0e0d0c-0000-4000-8000-000000000000", **fields, npm_requirements=[NpmRequirement(name="left-pad")]
    )
    house.stores.writer.write(*house.stores.tools.create(tool, "token"))
    agent = house.agent(tool_ids=[tool.id], model="hibernaut/demo")
    result = house.services.tools.runs.run_attached(agent.id, "f", {})
    assert (result.status, "left-pad" in "".join(result.stderr or [])) == ("error", True)


def test_a_new_source_must_have_the_tools_function(house: House) -> None:
    tool = create(house)
    after = house.services.tools.update(tool.id, ToolUpdate(source_code="export const f = async () => 1"))
    assert after.json_schema == tool.json_schema
    with pytest.raises(InvalidToolSource, match="no function called f"):
        house.services.tools.update(tool.id, ToolUpdate(source_code="export const g = () => 1"))


def test_a_tool_whose_packages_were_never_installed_says_so_when_a_module_is_missing(house: House) -> None:
    schema = {"name": "f", "parameters": {"type": "object", "properties": {"module": {"type": "string"}}, "required": ["module"]}}
    source = "def f(module: str):\n    import importlib\n\n    return importlib.import_module(module).__name__\n"
    fields = {"name": "f", "source_code": source, "source_type": "python", "json_schema": schema}
    tool = StoredTool(
        id="tool-0f0e0d0c-0000-4000-8000-000000000001", **fields, pip_requirements=[PipRequirement(name="nowhere-pad")]
    )
    house.stores.writer.write(*house.stores.tools.create(tool, "token"))
    agent = house.agent(tool_ids=[tool.id], model="hibernaut/demo")
    result = house.services.tools.runs.run_attached(agent.id, "f", {"module": "nowhere_pad"})
    said = "".join(result.stderr or [])
    assert (result.status, "ModuleNotFoundError: No module named 'nowhere_pad'. The packages that" in said) == ("error", True)
    assert f"(nowhere-pad) are not installed. PATCH /v1/tools/{tool.id} with its pip_requirements installs them." in said
    assert house.services.tools.runs.run_attached(agent.id, "f", {"module": "json"}).status == "success"
