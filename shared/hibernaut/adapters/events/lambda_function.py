"""Invokes the `deliver_events` Lambda function for event work that is due. Knows Lambda's Invoke; a repeated invocation does no
harm.

Nothing is lost if Lambda fails: the items stay due, and the next sweep names them again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

from hibernaut.adapters.function_client import FunctionClient, LambdaClient
from hibernaut.ports.storage.table import Key
from hibernaut.schemas.base import JsonObject

AT_ONCE = 20
"""Items of one invocation."""
logger = logging.getLogger(__name__)


class LambdaEventDelivery:
    """The `EventDelivery` on AWS. Thread-safe."""

    def __init__(self, function_name: str, client: LambdaClient | None = None) -> None:
        self._function = FunctionClient(function_name, client)

    def start(self, places: Sequence[Key]) -> None:
        """Invoke the function asynchronously, for `AT_ONCE` items at a time; returns when Lambda has accepted them."""
        from botocore.exceptions import BotoCoreError, ClientError

        for first in range(0, len(places), AT_ONCE):
            payload = json.dumps({"places": places[first : first + AT_ONCE]}).encode()
            try:
                self._function.invoke(payload)
            except (BotoCoreError, ClientError) as error:
                logger.error("events not handed over", extra={"items": len(places) - first, "error": type(error).__name__})
                return


def places_in(event: JsonObject) -> list[Key]:
    """The places in the event of such an invocation."""
    return [Key(pk, sk) for pk, sk in event["places"]]
