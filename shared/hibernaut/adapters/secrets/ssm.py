"""The `Secrets` port on SSM Parameter Store: SecureStrings under one path, encrypted by KMS, free while nobody asks.

Knows: the path and how SSM answers. Must not know: what a secret opens.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hibernaut.ports.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

KEEP_S = 300.0
"""Seconds that an answer is kept: a new or changed key is seen within five minutes, and a busy worker asks hardly ever."""


class SsmSecrets:
    """The parameters `<path>/<name>`. Answers, also that there is none, are kept for `KEEP_S` seconds. Thread-safe."""

    def __init__(self, path: str, *, clock: Clock, client: SSMClient | None = None) -> None:
        self._path = path.rstrip("/")
        self._clock = clock
        self._client = client
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, str | None]] = {}

    def get(self, name: str) -> str | None:
        """The secret of this name, or None. Raises: OSError where SSM does not answer and nothing is remembered."""
        with self._lock:
            at, value = self._known.get(name, (0.0, None))
            if name in self._known and self._clock.monotonic() - at < KEEP_S:
                return value
            value = self._ask(name)
            self._known[name] = (self._clock.monotonic(), value)
            return value

    def _ask(self, name: str) -> str | None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._connected().get_parameter(Name=f"{self._path}/{name}", WithDecryption=True)
            return answer["Parameter"].get("Value")
        except ClientError as error:
            if error.response["Error"].get("Code") == "ParameterNotFound":
                return None
            return self._remembered(name, error)
        except BotoCoreError as error:
            return self._remembered(name, error)

    def _remembered(self, name: str, error: Exception) -> str | None:
        # A key that worked five minutes ago is better than a failed turn.
        if name in self._known:
            return self._known[name][1]
        raise OSError(f"SSM get_parameter failed: {type(error).__name__}") from error

    def _connected(self) -> SSMClient:
        if self._client is None:
            import boto3
            from botocore.config import Config

            once = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=10)
            self._client = boto3.session.Session().client("ssm", config=once)
        return self._client
