"""Runs a custom tool in the Lambda function `run_tool` or `run_node`, both without permissions. Knows Lambda's Invoke and its
errors.

Both functions are isolated by tenant: each agent of each tenant has execution environments of its own (`TenantId`; AWS Lambda
developer guide, "tenant isolation"). There is one attempt, because only the caller knows whether a tool may run twice.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.aws_meter import function_called
from hibernaut.adapters.function_client import LambdaClient
from hibernaut.adapters.tool_runner import frames
from hibernaut.adapters.tool_runner.wire import failed, job_to_json, outcome_from_json
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import Json, JsonObject

LONGEST_RUN = 900
"""The time limit of the Lambda function in seconds; the connection's limit is a little longer."""
GIGABYTES = 1769 / 1024
"""The memory of the Lambda function (`infra/settings.py`)."""
LARGEST_ANSWER = 6 * 1024 * 1024 + 1024
"""Lambda's own limit of an answer in bytes."""
MOST_PARTS = 1_000_000
"""The largest number of parts of an answer; commas in what a tool printed count too."""
NO_NODE = "TypeScript tools need the function run_node, which this deployment does not have: deploy this release of the stack"
_GRACE = 10
_CONNECT_TIMEOUT = 5
_CONNECTIONS = 64
# Errors after a tool exceeded its limits; other errors are failures of the sandbox itself.
_OF_THE_TOOL = frozenset({"Sandbox.Timedout", "Runtime.ExitError", "Runtime.OutOfMemory", "Function.ResponseSizeTooLarge"})
_TOO_LARGE = frozenset({"RequestTooLargeException", "RequestEntityTooLargeException", "413"})
_NOT_CONNECTED = frozenset({"ResourceNotReadyException", "ENINotReadyException", "ResourceConflictException"})
"""Errors while Lambda restores a function's network connection, which it removes after weeks without calls."""


PackageLink = Callable[[str, str], str]
"""The address of the zip file of a tenant's set of packages, by its digest. Raises: OSError."""


class LambdaRunner:
    """The `ToolRunner` on AWS. Thread-safe."""

    def __init__(
        self,
        function_name: str,
        client: LambdaClient | None = None,
        *,
        node_function: str = "",
        links: PackageLink | None = None,
    ) -> None:
        """`node_function`: the name of the function that runs tools in TypeScript; empty if there is none. `links`: where
        packages are fetched; None: tools have none.
        """
        self._function_name = function_name
        self._node_function = node_function
        self._links = links
        self._client = client
        self._lock = threading.Lock()

    def refusal(self, source_type: str | None) -> str | None:
        """Why tools of this type cannot be run in this deployment; None if they can."""
        return NO_NODE if source_type == "typescript" and not self._node_function else None

    def run(self, job: ToolJob) -> ToolOutcome:
        """Run the tool once. Raises: OSError if the function cannot be invoked, or fails by itself."""
        from botocore.exceptions import BotoCoreError, ClientError

        if (why := self.refusal(job.source_type)) is not None:
            return failed(job, "NotImplementedError", why)
        function = self._node_function if job.source_type == "typescript" else self._function_name
        try:
            payload = json.dumps(job_to_json(replace(job, packages=self._linked(job)))).encode()
        except (TypeError, ValueError, RecursionError) as error:
            return failed(job, type(error).__name__, f"the call cannot be handed to the tool: {error}")
        try:
            with function_called(GIGABYTES):
                response = self._invocable().invoke(
                    FunctionName=function,
                    InvocationType="RequestResponse",
                    # A tool that is run from source belongs to no agent, so it shares its environment with no other.
                    TenantId=f"{job.tenant}:{job.agent_id}" if job.agent_id else f"once-{uuid.uuid4()}",
                    Payload=payload,
                )
                answer = response["Payload"].read(LARGEST_ANSWER + 1)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code"))
            if code in _TOO_LARGE:
                return failed(job, "ValueError", "the tool's source and arguments are too large to be sent to it")
            if code in _NOT_CONNECTED:
                return failed(
                    job, "RuntimeError", "the sandbox is being connected to its network: call the tool again in two minutes"
                )
            raise OSError(f"function {function} cannot be invoked: {code}") from error
        except BotoCoreError as error:
            raise OSError(f"function {function} cannot be reached: {type(error).__name__}") from error
        try:
            parsed: Json = frames.parsed(answer, MOST_PARTS) if len(answer) <= LARGEST_ANSWER else None
        except ValueError as error:
            return failed(job, "ValueError", f"what came back from its function cannot be read: {error}")
        return self._fault(job, parsed, function) if "FunctionError" in response else outcome_from_json(parsed, job)

    def _linked(self, job: ToolJob) -> JsonObject | None:
        """The tool's packages in the form of the function's event. Raises: OSError."""
        if job.packages is None or self._links is None:
            return None
        fields = {name: job.packages.get(name) for name in ("digest", "archive", "size")}
        return {**fields, "url": self._links(job.tenant, str(fields["digest"]))}

    def _fault(self, job: ToolJob, fault: Json, function: str) -> ToolOutcome:
        report = fault if isinstance(fault, dict) else {}
        kind, message = str(report.get("errorType", "")), str(report.get("errorMessage", ""))
        if kind in _OF_THE_TOOL or "Task timed out" in message:
            return failed(job, "RuntimeError", f"it took more than its function may: {message or kind}")
        raise OSError(f"function {function} failed: {kind or 'unknown error'}")

    def _invocable(self) -> LambdaClient:
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
                self._client = cast("LambdaClient", aws_client("lambda", config))
            return self._client
