"""The `Secrets` port on SSM Parameter Store: SecureStrings under one path, encrypted by KMS.

Knows: the path and SSM's API. Must not know: the purpose of a secret. Nothing is read before the first `get`.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.ports.clock import Clock
from hibernaut.schemas.errors import SecretsUnavailable

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

PAGE = 10
"""Parameters in one response: SSM's limit (API reference, GetParametersByPath, `MaxResults`)."""
KEEP_S = 300.0
"""The time to live of cached values in seconds: a new or changed key takes effect within five minutes, and a busy worker rarely
calls SSM.
"""
AGAIN_S = 5.0
"""Seconds between a failed read and the next one. Without this pause, each request of a throttled account would add its own
retries.
"""
ATTEMPTS = 4
"""Attempts of one read. botocore's `standard` mode retries throttling and connection errors with exponential backoff and
jitter.
"""
logger = logging.getLogger(__name__)


class SsmSecrets:
    """The parameters directly under `path`, read together and cached for `KEEP_S` seconds. Thread-safe.

    If a later read fails, the cached values stay in use. An empty path holds no parameters.
    """

    def __init__(self, path: str, *, clock: Clock, client: SSMClient | None = None) -> None:
        self._path = path.rstrip("/")
        self._clock = clock
        self._client = client
        self._lock = threading.Lock()
        self._values: dict[str, str] | None = None if self._path else {}
        self._due = float("-inf") if self._path else float("inf")

    def get(self, name: str) -> str | None:
        """The secret with this name, or None. Raises: SecretsUnavailable if SSM does not respond and nothing is cached."""
        with self._lock:
            if self._clock.monotonic() >= self._due:
                self._refresh()
            if self._values is None:
                raise SecretsUnavailable("The provider keys cannot be read from Parameter Store; try again.", AGAIN_S)
            return self._values.get(name)

    def _refresh(self) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._values = self._read()
            self._due = self._clock.monotonic() + KEEP_S
        except (BotoCoreError, ClientError) as error:
            self._due = self._clock.monotonic() + AGAIN_S
            fields = {"error": type(error).__name__, "cached": self._values is not None}
            logger.warning("provider keys not read from parameter store", extra=fields)

    def _read(self) -> dict[str, str]:
        pages = self._connected().get_paginator("get_parameters_by_path")
        found: dict[str, str] = {}
        for page in pages.paginate(Path=self._path, WithDecryption=True, PaginationConfig={"PageSize": PAGE}):
            found |= {each["Name"].rpartition("/")[2]: each["Value"] for each in page["Parameters"]}
        return found

    def _connected(self) -> SSMClient:
        if self._client is None:
            from botocore.config import Config

            retrying = Config(retries={"mode": "standard", "total_max_attempts": ATTEMPTS}, connect_timeout=2, read_timeout=5)
            self._client = cast("SSMClient", aws_client("ssm", retrying))
        return self._client
