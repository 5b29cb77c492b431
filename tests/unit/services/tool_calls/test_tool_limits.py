"""The time limits that tools have of their own, in the jobs that a runner is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.domain.tools.builtin.builtin_tools import builtin_id
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.tools.tool import ToolCreate, ToolRunFromSource, ToolUpdate
from tests.support.house import house_in
from tests.support.scripted_model import ScriptedRunner

SOURCE = 'def roll():\n    """Roll a die."""\n'


def test_each_kind_of_tool_has_its_own_limit(tmp_path: Path) -> None:
    limits: list[float] = []

    def noted(job: ToolJob) -> ToolOutcome:
        limits.append(job.timeout)
        return ToolOutcome("success", {"results": []})

    with house_in(tmp_path, runner=ScriptedRunner(noted)) as house:
        tools = house.services.tools
        tools.update(builtin_id("run_code"), ToolUpdate(metadata_={"timeout_seconds": 3}))
        own = tools.save(ToolCreate(source_code=SOURCE, metadata_={"timeout_seconds": 4}))
        agent = house.agent(tools=["run_code"], tool_ids=[own.id], model="hibernaut/demo")
        tools.runs.run_attached(agent.id, "run_code", {"code": "1", "language": "python"})
        tools.runs.run_attached(agent.id, "roll", {})
        tools.update(own.id, ToolUpdate(metadata_={"timeout_seconds": 10_000}))
        tools.runs.run_attached(agent.id, "roll", {})
        tools.runs.run_source(ToolRunFromSource(source_code=SOURCE, args={}, metadata_={"timeout_seconds": 5}))
        with pytest.raises(InvalidArgument, match="timeout_seconds"):
            tools.runs.run_source(ToolRunFromSource(source_code=SOURCE, args={}, metadata_={"timeout_seconds": -5}))
        with pytest.raises(InvalidArgument, match="timeout_seconds"):
            tools.save(ToolCreate(source_code=SOURCE, metadata_={"timeout_seconds": "soon"}))
    assert limits == [3, 4, 60, 5]
