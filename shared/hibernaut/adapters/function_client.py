"""The client of one Lambda function, for the adapters that invoke one."""

from __future__ import annotations

import threading
from typing import Any, Literal, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client

CONNECT_TIMEOUT, READ_TIMEOUT = 2.0, 5.0
"""Seconds. Lambda accepts an asynchronous invocation at once."""


class LambdaClient(Protocol):
    """The used part of botocore's Lambda client."""

    def invoke(self, **request: Any) -> Any: ...


class FunctionClient:
    """One Lambda function. The client is made at the first invocation. Thread-safe."""

    def __init__(
        self,
        function: str,
        client: LambdaClient | None = None,
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        read_timeout: float = READ_TIMEOUT,
        attempts: int = 1,
    ) -> None:
        """`function`: the name or the ARN that is invoked. `client` None: one of botocore, with these time limits in seconds,
        which tries a request `attempts` times.
        """
        self._function = function
        self._client = client
        self._lock = threading.Lock()
        self._connect_timeout, self._read_timeout = connect_timeout, read_timeout
        self._attempts = attempts

    def invoke(self, payload: bytes, kind: Literal["Event", "RequestResponse"] = "Event") -> Any:
        """Invoke the function; returns Lambda's response. Raises: BotoCoreError, ClientError."""
        return self._connected().invoke(FunctionName=self._function, InvocationType=kind, Payload=payload)

    def _connected(self) -> LambdaClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                config = Config(
                    connect_timeout=self._connect_timeout,
                    read_timeout=self._read_timeout,
                    retries={"total_max_attempts": self._attempts},
                )
                self._client = cast("LambdaClient", aws_client("lambda", config))
            return self._client
