"""Invokes the `fire_schedule` Lambda function for schedules that are due. Knows Lambda's Invoke; a repeated invocation does no
harm.

Nothing is lost if Lambda fails: the schedules stay due, and the next sweep names them again.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.ports.storage.table import Key
from hibernaut.schemas.base import JsonObject

AT_ONCE = 20
"""Schedules of one invocation."""
_CONNECT_TIMEOUT, _READ_TIMEOUT = 2, 5
logger = logging.getLogger(__name__)


class ScheduleLambdaClient(Protocol):
    """The used part of boto3's Lambda client."""

    def invoke(self, **request: Any) -> Any: ...


class LambdaScheduleWorkers:
    """The `ScheduleWorkers` on AWS. Thread-safe."""

    def __init__(self, function: str, client: ScheduleLambdaClient | None = None) -> None:
        """`function`: its ARN."""
        self._function = function
        self._client = client
        self._lock = threading.Lock()

    def start(self, places: Sequence[Key]) -> None:
        """Invoke the function asynchronously, for `AT_ONCE` schedules at a time; returns when Lambda has accepted them."""
        from botocore.exceptions import BotoCoreError, ClientError

        for first in range(0, len(places), AT_ONCE):
            payload = json.dumps({"schedules": places[first : first + AT_ONCE]}).encode()
            try:
                self._connected().invoke(FunctionName=self._function, InvocationType="Event", Payload=payload)
            except (BotoCoreError, ClientError) as error:
                logger.error("schedules not handed over", extra={"items": len(places) - first, "error": type(error).__name__})
                return

    def _connected(self) -> ScheduleLambdaClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                once = Config(connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries={"total_max_attempts": 1})
                self._client = cast("ScheduleLambdaClient", aws_client("lambda", once))
            return self._client


def places_in(event: JsonObject) -> list[Key]:
    """The places in the event of such an invocation, or the place of the due schedule."""
    if "schedule_id" in event:
        return [Key(f"{event['tenant']}#SCHEDULE#{event['schedule_id']}", "SCHEDULE")]
    return [Key(pk, sk) for pk, sk in event["schedules"]]
