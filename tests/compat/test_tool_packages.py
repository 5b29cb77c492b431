"""Tools with `pip_requirements` through the SDK (Letta V1 API, API 2.9; RT 10.1)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from letta_client import BadRequestError, Letta

from tests.compat.conftest import Make, Said, calls
from tests.support.package_index import MEGABYTE, PackageIndexServer

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
SOURCE = '''
def {name}() -> str:
    """Say which version there is."""
    import {module}, requests, httpx, pydantic, yaml, letta_client
    return {module}.version
'''


def source(name: str, module: str) -> str:
    return SOURCE.format(name=name, module=module)


@pytest.fixture(scope="module")
def index(package_index: PackageIndexServer, profile: str) -> PackageIndexServer:
    """The index, empty at the beginning of each profile."""
    del profile
    package_index.files.clear()
    return package_index


def pins(tool: Any) -> dict[str, str]:
    return {each["name"]: each["version"] for each in tool.packages["pins"]}


@pytest.mark.manifest("tools.pip_requirements")
@pytest.mark.deployed
def test_a_tool_runs_with_the_versions_that_were_chosen_when_it_was_saved(
    client: Letta, new_agent: Make, said: Said, index: PackageIndexServer
) -> None:
    index.add("told-version", "1.0", requires=["told-base"])
    index.add("told-base", "4.0")
    wanted = [{"name": "Told_Version"}]
    tool = client.tools.create(source_code=source("tell", "told_version"), pip_requirements=wanted)
    assert [each.to_dict() for each in tool.pip_requirements or []] == [{"name": "Told_Version", "version": None}]
    assert pins(tool) == {"told-base": "4.0", "told-version": "1.0"}
    index.add("told-version", "2.0")
    agent = new_agent(tools=["tell"])
    said.next(calls(("tell", {})), {"content": "1.0, I read."})
    reply = client.agents.messages.create(agent.id, input="Which?")
    assert [each.tool_return for each in reply.messages if each.message_type == "tool_return_message"] == ["1.0"]
    assert client.agents.tools.run("tell", agent_id=agent.id).func_return == "1.0"
    assert pins(client.tools.upsert(source_code=source("tell", "told_version"), pip_requirements=wanted))["told-version"] == "1.0"
    newer = client.tools.update(tool.id, pip_requirements=[{"name": "told-version", "version": ">=2"}])
    assert pins(newer) == {"told-version": "2.0"}
    assert client.agents.tools.run("tell", agent_id=agent.id).func_return == "2.0"


@pytest.mark.manifest("tools.pip_requirements")
@pytest.mark.parametrize(
    ("name", "version", "told"),
    [
        ("never-heard-of", None, "The index has no package never-heard-of."),
        ("--index-url=https://evil.example", None, "is not the name of a package"),
        ("source-only", None, "would have to be compiled"),
        ("too-large", None, "would take 500 MB"),
    ],
)
def test_packages_that_cannot_be_installed_are_told_to_whoever_creates_the_tool(
    client: Letta, index: PackageIndexServer, name: str, version: str | None, told: str
) -> None:
    index.add_source("source-only", "1.0")
    index.add("too-large", "1.0", listed={"size": 500 * MEGABYTE})
    with pytest.raises(BadRequestError, match=told):
        client.tools.create(source_code=source("unmade", "x"), pip_requirements=[{"name": name, "version": version}])
    assert list(client.tools.list(name="unmade")) == []


@pytest.mark.manifest("tools.pip_requirements")
def test_a_source_that_is_run_once_has_its_packages(client: Letta, http: Any, index: PackageIndexServer) -> None:
    index.add("once", "1.0")
    body = {"source_code": source("tell", "once"), "args": {}, "pip_requirements": [{"name": "once"}]}
    assert http.post("/v1/tools/run", json=body).json()["tool_return"] == "1.0"


def test_the_example_of_the_page_runs(client: Letta, index: PackageIndexServer, capsys: pytest.CaptureFixture[str]) -> None:
    index.add("wordcount", "1.4", files={"wordcount.py": "def count(text):\n    return len(text.split())\n"})
    index.add("wordcount", "2.0")
    program = re.search(r"<!-- run by tests/compat/test_tool_packages.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert program
    exec(program[1], {"client": client})
    assert capsys.readouterr().out == "[('wordcount', '1.4')]\n"
