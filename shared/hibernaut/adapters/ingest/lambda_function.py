"""Invokes the `ingest_file` Lambda function for an uploaded file. Knows Lambda's Invoke; a repeated invocation does no harm.

Nothing is lost if Lambda fails: the table marks the file as due, and the sweep invokes the function again.
"""

from __future__ import annotations

import json
import logging
import threading
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client

_CONNECT_TIMEOUT, _READ_TIMEOUT = 2, 5
logger = logging.getLogger(__name__)


class IngestLambdaClient(Protocol):
    """The used part of boto3's Lambda client."""

    def invoke(self, **request: Any) -> Any: ...


class LambdaIngest:
    """The `Ingest` on AWS. Thread-safe."""

    def __init__(self, function_name: str, client: IngestLambdaClient | None = None) -> None:
        self._function_name = function_name
        self._client = client
        self._lock = threading.Lock()

    def start(self, tenant: str, file_id: str) -> None:
        """Invoke the function asynchronously; returns when Lambda has accepted the event."""
        from botocore.exceptions import BotoCoreError, ClientError

        payload = json.dumps({"tenant": tenant, "file_id": file_id}).encode()
        try:
            self._invocable().invoke(FunctionName=self._function_name, InvocationType="Event", Payload=payload)
        except (BotoCoreError, ClientError) as error:
            logger.error("ingestion not started", extra={"file_id": file_id, "error": type(error).__name__})

    def _invocable(self) -> IngestLambdaClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                once = Config(connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries={"total_max_attempts": 1})
                self._client = cast("IngestLambdaClient", aws_client("lambda", once))
            return self._client
