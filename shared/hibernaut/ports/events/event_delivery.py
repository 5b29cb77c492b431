"""Handing over event work: outbox items, and deliveries that are due. What is not handed over, or lost, stays due in the
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hibernaut.ports.storage.table import Key


class EventDelivery(Protocol):
    """Starts the workers that pass events on."""

    def start(self, places: Sequence[Key]) -> None:
        """Have the items at these places handled, and return at once. Idempotent."""


class NoEventDelivery:
    """The event delivery of a deployment without workers: it does nothing."""

    def start(self, places: Sequence[Key]) -> None:  # noqa: ARG002 - the port names it
        return None


NO_EVENT_DELIVERY = NoEventDelivery()
