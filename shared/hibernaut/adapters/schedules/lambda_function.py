"""Invokes the `fire_schedule` Lambda function for schedules that are due. Knows Lambda's Invoke; a repeated invocation does no
harm.

Nothing is lost if Lambda fails: the schedules stay due, and the next sweep names them again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

from hibernaut.adapters.function_client import FunctionClient, LambdaClient
from hibernaut.ports.storage.table import Key
from hibernaut.schemas.base import JsonObject

AT_ONCE = 20
"""Schedules of one invocation."""
logger = logging.getLogger(__name__)


class LambdaScheduleWorkers:
    """The `ScheduleWorkers` on AWS. Thread-safe."""

    def __init__(self, function: str, client: LambdaClient | None = None) -> None:
        """`function`: its ARN."""
        self._function = FunctionClient(function, client)

    def start(self, places: Sequence[Key]) -> None:
        """Invoke the function asynchronously, for `AT_ONCE` schedules at a time; returns when Lambda has accepted them."""
        from botocore.exceptions import BotoCoreError, ClientError

        for first in range(0, len(places), AT_ONCE):
            payload = json.dumps({"schedules": places[first : first + AT_ONCE]}).encode()
            try:
                self._function.invoke(payload)
            except (BotoCoreError, ClientError) as error:
                logger.error("schedules not handed over", extra={"items": len(places) - first, "error": type(error).__name__})
                return


def places_in(event: JsonObject) -> list[Key]:
    """The places in the event of such an invocation, or the place of the due schedule."""
    if "schedule_id" in event:
        return [Key(f"{event['tenant']}#SCHEDULE#{event['schedule_id']}", "SCHEDULE")]
    return [Key(pk, sk) for pk, sk in event["schedules"]]
