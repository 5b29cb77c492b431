"""Runs a custom tool in the `run_tool` Lambda function, whose role has no permissions. Knows Lambda's Invoke and its errors.

The function is isolated by tenant: each agent has execution environments of its own (`TenantId`; AWS Lambda developer guide,
"tenant isolation"). There is one attempt, because only the caller knows whether a tool may run twice.
"""

from __future__ import annotations

import json
import threading
import uuid
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.aws_meter import function_called
from hibernaut.adapters.tool_runner.wire import failed, job_to_json, outcome_from_json
from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import JsonObject

LONGEST_RUN = 900
"""The time limit of the Lambda function in seconds; the connection's limit is a little longer."""
GIGABYTES = 1769 / 1024
"""The memory of the Lambda function (`infra/settings.py`)."""
_GRACE = 10
_CONNECT_TIMEOUT = 5
_CONNECTIONS = 64
# Errors of a function whose tool exceeded its limits; other errors are failures of the sandbox itself.
_OF_THE_TOOL = frozenset({"Sandbox.Timedout", "Runtime.ExitError", "Runtime.OutOfMemory", "Function.ResponseSizeTooLarge"})
_TOO_LARGE = frozenset({"RequestTooLargeException", "RequestEntityTooLargeException", "413"})


class ToolLambdaClient(Protocol):
    """The used part of boto3's Lambda client."""

    def invoke(self, **request: Any) -> Any: ...


class LambdaRunner:
    """The `ToolRunner` on AWS. Thread-safe."""

    def __init__(self, function_name: str, client: ToolLambdaClient | None = None) -> None:
        self._function_name = function_name
        self._client = client
        self._lock = threading.Lock()

    def run(self, job: ToolJob) -> ToolOutcome:
        """Run the tool once. Raises: OSError if the function cannot be invoked, or fails by itself."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            payload = json.dumps(job_to_json(job)).encode()
        except (TypeError, ValueError, RecursionError) as error:
            return failed(job, type(error).__name__, f"the call cannot be handed to the tool: {error}")
        try:
            with function_called(GIGABYTES):
                response = self._invocable().invoke(
                    FunctionName=self._function_name,
                    InvocationType="RequestResponse",
                    # A tool that is run from source belongs to no agent, so it shares its environment with no other.
                    TenantId=job.agent_id or f"once-{uuid.uuid4()}",
                    Payload=payload,
                )
                answer: JsonObject = json.loads(response["Payload"].read())
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code"))
            if code in _TOO_LARGE:
                return failed(job, "ValueError", "the tool's source and arguments are too large to be sent to it")
            raise OSError(f"function {self._function_name} cannot be invoked: {code}") from error
        except BotoCoreError as error:
            raise OSError(f"function {self._function_name} cannot be reached: {type(error).__name__}") from error
        if "FunctionError" in response:
            return self._fault(job, answer)
        return outcome_from_json(answer)

    def _fault(self, job: ToolJob, fault: JsonObject) -> ToolOutcome:
        kind, message = str(fault.get("errorType", "")), str(fault.get("errorMessage", ""))
        if kind in _OF_THE_TOOL or "Task timed out" in message:
            return failed(job, "RuntimeError", f"it took more than its function may: {message or kind}")
        raise OSError(f"function {self._function_name} failed: {kind or 'unknown error'}")

    def _invocable(self) -> ToolLambdaClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                config = Config(
                    connect_timeout=_CONNECT_TIMEOUT,
                    read_timeout=LONGEST_RUN + _GRACE,
                    retries={"total_max_attempts": 1},
                    max_pool_connections=_CONNECTIONS,
                    tcp_keepalive=True,
                )
                self._client = cast("ToolLambdaClient", aws_client("lambda", config))
            return self._client
