"""Invokes the `ingest_file` Lambda function for an uploaded file. Knows Lambda's Invoke; a repeated invocation does no harm.

Nothing is lost if Lambda fails: the table marks the file as due, and the sweep invokes the function again.
"""

from __future__ import annotations

import json
import logging

from hibernaut.adapters.function_client import FunctionClient, LambdaClient

logger = logging.getLogger(__name__)


class LambdaIngest:
    """The `Ingest` on AWS. Thread-safe."""

    def __init__(self, function_name: str, client: LambdaClient | None = None) -> None:
        self._function = FunctionClient(function_name, client)

    def start(self, tenant: str, file_id: str) -> None:
        """Invoke the function asynchronously; returns when Lambda has accepted the event."""
        from botocore.exceptions import BotoCoreError, ClientError

        payload = json.dumps({"tenant": tenant, "file_id": file_id}).encode()
        try:
            self._function.invoke(payload)
        except (BotoCoreError, ClientError) as error:
            logger.error("ingestion not started", extra={"file_id": file_id, "error": type(error).__name__})
