"""Each promise is tried on the child process and on the function, the latter through its real handler."""

from __future__ import annotations

from textwrap import dedent

import pytest

from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from hibernaut.ports.tools.tool_runner import ToolJob, ToolRunner
from tests.support.run_tool import HandlerClient

MEGABYTE = 1024 * 1024


@pytest.fixture(params=["child process", "function"])
def runner(request: pytest.FixtureRequest) -> ToolRunner:
    return (
        ChildProcessRunner()
        if request.param == "child process"
        else LambdaRunner("run_tool", HandlerClient(), node_function="run_node")
    )


def job(source: str, **fields: object) -> ToolJob:
    """A call of the function `tool`; generous limits unless given."""
    given: dict[str, object] = {"name": "tool", "source_code": dedent(source), "args": {}, "timeout": 60.0} | fields
    return ToolJob(**given)  # type: ignore[arg-type]
