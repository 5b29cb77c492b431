"""An event bus of the deployment, which gets the events of all tenants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hibernaut.domain.events import OutboundEvent


class BusFailure(Exception):
    """The bus did not accept all events; they may be sent again. The message contains no part of an event."""


class EventBus(Protocol):
    """The bus."""

    def put(self, events: Sequence[OutboundEvent]) -> None:
        """Send events. After a failure some may have been sent: receivers know an event by its id. Raises: BusFailure."""


class NoEventBus:
    """The bus of a deployment without one: it takes everything and passes nothing on."""

    def put(self, events: Sequence[OutboundEvent]) -> None:  # noqa: ARG002 - the port names it
        return None


NO_EVENT_BUS = NoEventBus()
