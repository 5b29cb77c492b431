"""The port `SocketWorkers`: an asynchronous invocation of a Lambda function, which may work for 15 minutes."""

from __future__ import annotations

import json

from hibernaut.adapters.function_client import FunctionClient, LambdaClient
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ServerBusy

_RETRY_AFTER = 1.0


class LambdaWorkers:
    """Workers of one function. Lambda may deliver an event twice; a job says which of its deliveries counts."""

    def __init__(self, function: str, client: LambdaClient | None = None) -> None:
        """`function`: the ARN that is invoked, with its alias if it has one."""
        self._function = FunctionClient(function, client, attempts=2)

    def start(self, job: JsonObject) -> None:
        """Invoke the function; returns when Lambda has queued the event. Raises: ServerBusy."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            payload = json.dumps(job, ensure_ascii=False).encode()  # escapes could double a job beyond Lambda's quota
            self._function.invoke(payload)
        except (BotoCoreError, ClientError) as error:
            raise ServerBusy("No worker could be started for the request; try again.", _RETRY_AFTER) from error
