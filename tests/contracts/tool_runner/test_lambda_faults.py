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


@pytest.mark.parametrize("code", ["ResourceNotReadyException", "ENINotReadyException", "ResourceConflictException"])
def test_a_function_without_its_network_asks_to_be_called_again(code: str) -> None:
    outcome = LambdaRunner("run_tool", Faulty(client_error(code))).run(job(TOOL))
    assert outcome.status == "error"
    assert str(outcome.error).endswith("call the tool again in two minutes")


def test_each_agent_of_each_tenant_has_its_own_environments_and_a_tool_without_an_agent_has_one_for_itself() -> None:
    client = HandlerClient()
    runner = LambdaRunner("run_tool", client)
    for tenant, agent in (("a", "agent-1"), ("a", "agent-1"), ("b", "agent-1"), ("a", None), ("a", None)):
        runner.run(job(TOOL, agent_id=agent, tenant=tenant))
    environments = [request["TenantId"] for request in client.requests]
    assert environments[:3] == ["a:agent-1", "a:agent-1", "b:agent-1"]
    assert len(set(environments)) == 4


def test_a_real_client_makes_one_attempt_and_waits_longer_than_the_function_may_run() -> None:
    runner = LambdaRunner("run_tool")
    config = runner._invocable().meta.config  # type: ignore[attr-defined]
    assert config.retries["total_max_attempts"] == 1
    assert config.read_timeout > 900
