"""The handlers `run_tool` and `run_node`, given the jobs that `LambdaRunner` sends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from functions.run_node.handler import handler as run_node
from functions.run_tool.handler import handler
from hibernaut.adapters.tool_runner.wire import job_from_json, job_to_json, outcome_from_json, outcome_to_json
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from tests.support.run_tool import LambdaContext

SAMPLES = Path(__file__).parents[2] / "events"
EVENTS = SAMPLES / "run_tool"


def event(name: str) -> dict[str, Any]:
    return dict(json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8")))


class Noting:
    """A runner that keeps the job and answers with what it is given."""

    def __init__(self, outcome: ToolOutcome) -> None:
        self.outcome = outcome
        self.job: ToolJob | None = None

    def refusal(self, source_type: str | None) -> None:  # noqa: ARG002 - the port names it
        return None

    def run(self, job: ToolJob) -> ToolOutcome:
        self.job = job
        return self.outcome


@pytest.mark.parametrize(
    ("name", "status", "value", "blocks"),
    [
        ("add", "success", 5, {}),
        ("edits_a_block", "success", None, {"human": "Likes tea."}),
        ("fails", "error", None, {}),
    ],
)
def test_a_job_that_lambda_delivers_is_run(name: str, status: str, value: object, blocks: dict[str, str]) -> None:
    outcome = outcome_from_json(handler(event(name), LambdaContext()), job_from_json(event(name)))
    assert (outcome.status, outcome.value, outcome.blocks) == (status, value, blocks), outcome


@pytest.mark.parametrize("name", sorted(path.stem for path in EVENTS.glob("*.json")))
def test_the_events_are_what_the_adapter_sends(name: str) -> None:
    assert job_to_json(job_from_json(event(name))) == event(name)


def test_a_job_in_typescript_is_run_by_the_function_with_node() -> None:
    job = json.loads((SAMPLES / "run_node" / "add.json").read_text(encoding="utf-8"))
    assert job_to_json(job_from_json(job)) == job
    outcome = outcome_from_json(run_node(job, LambdaContext()), job_from_json(job))
    assert (outcome.status, outcome.value) == ("success", 5), outcome


def test_no_credentials_of_the_function_reach_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "planted")
    source = "import os\ndef add(a, b):\n    return [name for name in os.environ if name.startswith('AWS')]\n"
    reply = handler(event("add") | {"source_code": source}, LambdaContext())
    assert (reply["status"], reply["value"]) == ("success", [])


@pytest.mark.parametrize("memory", [1024, "1024"])
def test_a_job_gets_no_more_than_the_function_has_left(memory: int | str) -> None:
    runner = Noting(ToolOutcome(status="success"))
    handler(event("add") | {"timeout": 500, "memory": 4 * 1024**3}, LambdaContext(memory, seconds_left=100), runner)
    assert runner.job is not None
    assert runner.job.timeout < 100
    assert runner.job.memory < 1024**3


def test_a_job_keeps_its_own_limits_where_they_are_smaller() -> None:
    runner = Noting(ToolOutcome(status="success"))
    handler(event("add") | {"timeout": 5, "memory": 100 * 1024**2}, LambdaContext(), runner)
    assert runner.job is not None
    assert (runner.job.timeout, runner.job.memory) == (5, 100 * 1024**2)


def test_a_reply_that_lambda_would_refuse_is_an_error_instead() -> None:
    fits, too_large = (ToolOutcome(status="success", value="ä" * n) for n in (2_900_000, 3_100_000))
    assert handler(event("add"), LambdaContext(), Noting(fits)) == outcome_to_json(fits)
    assert "too large" in handler(event("add"), LambdaContext(), Noting(too_large))["error"]
