"""The event bus on EventBridge. Knows PutEvents: at most ten entries of together 1 MB, each of which may be refused on its own.

Sources: Amazon EventBridge API reference, PutEvents. Our entries are a few hundred bytes, so only their number is a limit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.domain.events import OutboundEvent
from hibernaut.ports.events.event_bus import BusFailure

SOURCE = "hibernaut"
MOST_ENTRIES = 10
_CONNECT_TIMEOUT, _READ_TIMEOUT, _ATTEMPTS = 2, 5, 3


class EventBridgeClient(Protocol):
    """The used part of boto3's EventBridge client."""

    def put_events(self, **request: Any) -> Any: ...


class EventBridgeBus:
    """The bus with this name. Thread-safe."""

    def __init__(self, name: str, client: EventBridgeClient | None = None) -> None:
        self._name = name
        self._client = client
        self._lock = threading.Lock()

    def put(self, events: Sequence[OutboundEvent]) -> None:
        """As the port says. The detail of an entry is the whole event."""
        from botocore.exceptions import BotoCoreError, ClientError

        for first in range(0, len(events), MOST_ENTRIES):
            entries = [self._entry(event) for event in events[first : first + MOST_ENTRIES]]
            try:
                answer = self._sender().put_events(Entries=entries)
            except (BotoCoreError, ClientError) as error:
                raise BusFailure(type(error).__name__) from error
            if answer["FailedEntryCount"]:
                codes = sorted({entry["ErrorCode"] for entry in answer["Entries"] if "ErrorCode" in entry})
                raise BusFailure(f"{answer['FailedEntryCount']} entries refused: {', '.join(codes)}")

    def _entry(self, event: OutboundEvent) -> dict[str, object]:
        return {
            "EventBusName": self._name,
            "Source": SOURCE,
            "DetailType": event.type,
            "Time": datetime.fromisoformat(event.timestamp),
            "Detail": json.dumps(event.json(), separators=(",", ":"), ensure_ascii=False),
        }

    def _sender(self) -> EventBridgeClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                patience = Config(
                    connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries={"total_max_attempts": _ATTEMPTS}
                )
                self._client = cast("EventBridgeClient", aws_client("events", patience))
            return self._client
