"""The `Secrets` port on SSM Parameter Store: SecureStrings under one path, encrypted by KMS.

Knows: the path and SSM's API. Must not know: the purpose of a secret.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hibernaut.ports.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

MOST_NAMES = 10
"""Names in one request: SSM's limit."""
KEEP_S = 300.0
"""The time to live of cached values in seconds: a new or changed key takes effect within five minutes, and a busy worker rarely
calls SSM.
"""


class SsmSecrets:
    """The parameters `<path>/<name>`. Values, and the absence of a value, are cached for `KEEP_S` seconds. Thread-safe.

    `together`: names that are fetched with one another when one of them is needed.
    """

    def __init__(self, path: str, *, clock: Clock, together: Sequence[str] = (), client: SSMClient | None = None) -> None:
        self._path = path.rstrip("/")
        self._clock = clock
        self._together = tuple(together)
        self._client = client
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, str | None]] = {}

    def get(self, name: str) -> str | None:
        """The secret with this name, or None. Raises: OSError if SSM does not respond and no value is cached."""
        from botocore.exceptions import BotoCoreError, ClientError

        with self._lock:
            if name not in self._known or self._clock.monotonic() - self._known[name][0] >= KEEP_S:
                try:
                    self._ask(self._together if name in self._together else (name,))
                except (BotoCoreError, ClientError) as error:
                    # An expired cached key is better than a failed turn.
                    if name not in self._known:
                        raise OSError(f"SSM get_parameters failed: {type(error).__name__}") from error
            return self._known[name][1]

    def _ask(self, names: Sequence[str]) -> None:
        found: dict[str, str] = {}
        for start in range(0, len(names), MOST_NAMES):
            wanted = [f"{self._path}/{name}" for name in names[start : start + MOST_NAMES]]
            answer = self._connected().get_parameters(Names=wanted, WithDecryption=True)
            found |= {parameter["Name"]: parameter["Value"] for parameter in answer["Parameters"]}
        now = self._clock.monotonic()
        self._known.update({name: (now, found.get(f"{self._path}/{name}")) for name in names})

    def _connected(self) -> SSMClient:
        if self._client is None:
            import boto3
            from botocore.config import Config

            once = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=10)
            self._client = boto3.session.Session().client("ssm", config=once)
        return self._client
