"""Fires several schedules, of any tenant, within the time that its host has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hibernaut.ports.runs.schedules import Scheduler
from hibernaut.ports.storage.table import Key
from hibernaut.schemas.errors import place_of
from hibernaut.services.parallel_map import in_parallel
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.schedules.firing import ScheduleFiring
from hibernaut.store.table import keys

THREADS = 8
MARGIN = 15.0
"""Seconds that must be left for one more schedule."""
logger = logging.getLogger(__name__)


class FiringResult(NamedTuple):
    """The numbers of schedules that fired, and of those that are left to the sweep."""

    fired: int
    remaining: int


class FiringWorker:
    """Fires the schedules at given places. What fails, or does not fit into the time, stays due."""

    def __init__(self, firing: PerTenant[ScheduleFiring], scheduler: Scheduler) -> None:
        self._firing = firing
        self._scheduler = scheduler

    def run(self, places: Sequence[Key], *, time_left: Callable[[], float]) -> FiringResult:
        """Fire the schedules at these places that are due."""
        results = in_parallel(THREADS, self._fired, places, until=lambda: time_left() < MARGIN)
        return FiringResult(results.count("fired"), len(places) - len(results) + results.count("left"))

    def _fired(self, place: Key) -> str:
        tenant, schedule_id = keys.tenant_of(place.pk), keys.last_part(place.pk)
        try:
            fired = self._firing.of(tenant).fire(schedule_id)
            if fired == "gone":
                self._scheduler.delete(tenant, schedule_id)
        except Exception as error:  # noqa: BLE001  one schedule must not keep the others from being fired; the sweep names it again
            fields = {"schedule_id": schedule_id, "error": type(error).__qualname__, "place": place_of(error)}
            logger.error("schedule not fired", extra=fields)
            return "left"
        return fired
