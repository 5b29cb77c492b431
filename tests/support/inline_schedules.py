"""Fires schedules where they are handed over, on the caller's thread. `bind` provides the function that fires."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from hibernaut.ports.storage.table import Key
from hibernaut.schemas.errors import place_of

logger = logging.getLogger(__name__)


class InlineSchedules:
    """The `ScheduleWorkers` of a process that fires at once. What fails stays due in the table."""

    def __init__(self) -> None:
        self._fire: Callable[[Key], object] | None = None

    def bind(self, fire: Callable[[Key], object]) -> None:
        self._fire = fire

    def start(self, places: Sequence[Key]) -> None:
        """Fire the schedules at these places, one after the other."""
        for place in places:
            try:
                if self._fire is not None:
                    self._fire(place)
            except Exception as error:  # noqa: BLE001  one schedule must not keep the others from being fired; the sweep hands it over again
                logger.error("schedule not fired", extra={"place": place_of(error), "error": type(error).__name__})
