"""Handles several places of event work, of any tenant, within the time that its host has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from hibernaut.ports.storage.table import Key
from hibernaut.schemas.errors import place_of
from hibernaut.services.events.event_relay import EventRelay
from hibernaut.services.parallel_map import in_parallel
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.table import keys

THREADS = 8
MARGIN = 30.0
"""Seconds that must be left for one more item: a call of each webhook, in turns of `event_relay.AT_ONCE`."""
logger = logging.getLogger(__name__)


class RelayWorker:
    """Passes on the events at given places. What fails, or does not fit into the time, stays due."""

    def __init__(self, relays: PerTenant[EventRelay]) -> None:
        self._relays = relays

    def run(self, places: Sequence[Key], *, time_left: Callable[[], float]) -> int:
        """Handle the items at these places; returns how many were handled."""
        return sum(in_parallel(THREADS, self._handled, places, until=lambda: time_left() < MARGIN))

    def _handled(self, place: Key) -> int:
        try:
            self._relays.of(keys.tenant_of(place.pk)).take(place)
        except Exception as error:  # noqa: BLE001  one item must not keep the others from being handled; the sweep names it again
            fields = {"error": type(error).__qualname__, "place": place_of(error)}
            logger.error("event not passed on", extra=fields)
            return 0
        return 1
