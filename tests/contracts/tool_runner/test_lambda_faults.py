"""What `LambdaRunner` makes of Lambda's errors, and whose execution environment it asks for."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from tests.contracts.tool_runner.conftest import job
from tests.support.run_tool import HandlerClient

TOOL = "def tool(): return 1"


class Faulty:
    """A client that answers what Lambda answers when the function died, or raises what boto3 raises."""

    def __init__(self, fault: dict[str, str] | Exception) -> None:
        self.fault = fault

    def invoke(self, **_request: Any) -> dict[str, Any]:
        if isinstance(self.fault, Exception):
            raise self.fault
        payload = io.BytesIO(json.dumps(self.fault).encode())
        return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": payload}


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Invoke")


@pytest.mark.parametrize(
    "fault",
    [
        {"errorType": "Sandbox.Timedout", "errorMessage": "RequestId: 1 Error: Task timed out after 180.00 seconds"},
        {"errorMessage": "2026-01-01 Task timed out after 180.00 seconds"},
        {"errorType": "Runtime.ExitError", "errorMessage": "RequestId: 1 Error: Runtime exited with error: signal: killed"},
        {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": "Response payload size exceeded"},
        client_error("RequestTooLargeException"),
    ],
)
def test_what_the_tool_did_to_its_function_is_the_tools_error(fault: dict[str, str] | Exception) -> None:
    outcome = LambdaRunner("run_tool", Faulty(fault)).run(job(TOOL))
    assert outcome.status == "error"
    assert str(outcome.error).startswith("Error executing function tool: ")


@pytest.mark.parametrize(
    "fault",
    [
        {"errorType": "Runtime.ImportModuleError", "errorMessage": "Unable to import module"},
        {"errorType": "KeyError", "errorMessage": "'name'"},
        {},
        client_error("ResourceNotFoundException"),
        client_error("TooManyRequestsException"),
        ReadTimeoutError(endpoint_url="https://lambda"),
    ],
)
def test_a_function_that_cannot_work_is_an_os_error(fault: dict[str, str] | Exception) -> None:
    with pytest.raises(OSError, match="run_tool"):
        LambdaRunner("run_tool", Faulty(fault)).run(job(TOOL))


def test_each_agent_has_its_own_environments_and_a_tool_without_an_agent_has_one_for_itself() -> None:
    client = HandlerClient()
    runner = LambdaRunner("run_tool", client)
    for agent in ("agent-1", "agent-1", None, None):
        runner.run(job(TOOL, agent_id=agent))
    tenants = [request["TenantId"] for request in client.requests]
    assert tenants[:2] == ["agent-1", "agent-1"]
    assert len(set(tenants)) == 3


def test_a_real_client_makes_one_attempt_and_waits_longer_than_the_function_may_run() -> None:
    runner = LambdaRunner("run_tool")
    config = runner._invocable().meta.config  # type: ignore[attr-defined]
    assert config.retries["total_max_attempts"] == 1
    assert config.read_timeout > 900
