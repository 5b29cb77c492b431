"""The `Workflow` port on Step Functions: one Standard execution per run, named after the run.

Knows: the state machine's ARN and the API of Step Functions. Must not know: what a step does, or why a run is started.
"""

from __future__ import annotations

import json
import logging
from functools import cached_property
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.ports.runs.workflow import CONTRACT, RunRef

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

ARN_PARTS = 7
"""The parts of a machine's ARN. An alias of its versions is an eighth one."""
ATTEMPTS = 3
"""How often a request is sent. Each may be repeated: an execution has a name, and an ended wait or execution stays ended."""
log = logging.getLogger(__name__)


class StepFunctions:
    """Starts and stops executions. Thread-safe.

    Starting is a fast path: the table lists the run as open, so if Step Functions fails each time, the failure is logged and the
    sweep starts the run one or two minutes later. No exception is raised, because the request has already been accepted. `stops`:
    False in functions that an execution itself calls, because that execution is waiting for them. The ARN of an alias starts the
    version that the alias names; the execution belongs to the machine.
    """

    def __init__(self, state_machine: str, *, stops: bool = True, client: SFNClient | None = None) -> None:
        self._machine = state_machine
        self._executions = ":".join(state_machine.replace(":stateMachine:", ":execution:").split(":")[:ARN_PARTS])
        self._stops = stops
        self._override = client

    @cached_property
    def _client(self) -> SFNClient:
        if self._override is not None:
            return self._override
        from botocore.config import Config

        config = Config(retries={"total_max_attempts": ATTEMPTS, "mode": "standard"}, connect_timeout=3, read_timeout=10)
        return cast("SFNClient", aws_client("stepfunctions", config))

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        """Start the execution `name` (default: the run id). An execution with this name, running or ended, counts as success."""
        del inline  # Step Functions has no thread to lend.
        from botocore.exceptions import BotoCoreError, ClientError

        order = json.dumps({"v": CONTRACT, "tenant": run.tenant, "run_id": run.run_id})
        try:
            self._client.start_execution(stateMachineArn=self._machine, name=name or run.run_id, input=order)
        except ClientError as error:
            if error.response["Error"].get("Code") != "ExecutionAlreadyExists":
                _log_not_started(run, error)
        except BotoCoreError as error:
            _log_not_started(run, error)

    def stop(self, run: RunRef) -> None:
        """Stop the run's first execution, to save resources. An execution that the sweep started finds at its next step that the
        run has ended.
        """
        if not self._stops:
            return
        from botocore.exceptions import BotoCoreError, ClientError

        execution = f"{self._executions}:{run.run_id}"
        try:
            self._client.stop_execution(executionArn=execution, error="Ended", cause="the run has ended")
        except (BotoCoreError, ClientError) as error:
            log.info("execution not stopped", extra={"run_id": run.run_id, "reason": type(error).__name__})

    def end_wait(self, run: RunRef, token: str) -> None:
        """End the execution that waits for the approval's deadline, by its task token."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._client.send_task_success(taskToken=token, output="{}")
        except (BotoCoreError, ClientError) as error:
            log.info("wait not ended", extra={"run_id": run.run_id, "reason": type(error).__name__})


def _log_not_started(run: RunRef, error: Exception) -> None:
    log.warning("execution not started", extra={"run_id": run.run_id, "reason": type(error).__name__})
