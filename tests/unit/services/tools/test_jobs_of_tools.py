"""What a step tells the sandbox about a call."""

from __future__ import annotations

from pathlib import Path

from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.ids import DEFAULT_TENANT
from tests.protocol.staged import RING, opened
from tests.support.scripted_model import echo, in_turn, says


def test_a_job_names_its_tenant_because_ids_of_agents_are_unique_within_one_only(tmp_path: Path) -> None:
    jobs: list[ToolJob] = []

    def noted(job: ToolJob) -> ToolOutcome:
        jobs.append(job)
        return echo(job)

    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    world.runner.does = noted
    world.send(agent_id, "hello")
    assert [(job.tenant, job.agent_id) for job in jobs] == [(DEFAULT_TENANT, agent_id)]
