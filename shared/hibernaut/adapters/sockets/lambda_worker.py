"""The port `SocketWorkers`: an asynchronous invocation of a Lambda function, which may work for 15 minutes."""

from __future__ import annotations

import json
import threading
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ServerBusy

_CONNECT_TIMEOUT, _READ_TIMEOUT = 2, 5
_RETRY_AFTER = 1.0


class SocketLambdaClient(Protocol):
    """The used part of botocore's Lambda client."""

    def invoke(self, **request: Any) -> Any: ...


class LambdaWorkers:
    """Workers of one function. Lambda may deliver an event twice; a job says which of its deliveries counts."""

    def __init__(self, function: str, client: SocketLambdaClient | None = None) -> None:
        """`function`: the ARN that is invoked, with its alias if it has one."""
        self._function = function
        self._client = client
        self._lock = threading.Lock()

    def start(self, job: JsonObject) -> None:
        """Invoke the function; returns when Lambda has queued the event. Raises: ServerBusy."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            payload = json.dumps(job, ensure_ascii=False).encode()  # escapes could double a job beyond Lambda's quota
            self._invocable().invoke(FunctionName=self._function, InvocationType="Event", Payload=payload)
        except (BotoCoreError, ClientError) as error:
            raise ServerBusy("No worker could be started for the request; try again.", _RETRY_AFTER) from error

    def _invocable(self) -> SocketLambdaClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                twice = Config(connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries={"total_max_attempts": 2})
                self._client = cast("SocketLambdaClient", aws_client("lambda", twice))
            return self._client
