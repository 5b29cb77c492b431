"""Removes the alarms of schedules that are deleted, paused or over from the scheduler outside. Such an alarm does no harm but its
invocations.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable

from hibernaut.ports.runs.schedules import Scheduler
from hibernaut.store.stores import Stores

MARGIN = 12.0
"""Seconds that must be left for one more page."""
logger = logging.getLogger(__name__)


class AlarmReconciliation:
    """Compares the alarms of all tenants with their schedules."""

    def __init__(self, stores: Stores, scheduler: Scheduler) -> None:
        self._stores = stores
        self._scheduler = scheduler

    def run(self, *, time_left: Callable[[], float]) -> int:
        """Remove orphaned alarms, page by page, while there is time; returns how many. A schedule is written before its alarm is
        set, so that no alarm is ahead of its schedule. Raises: Unavailable.
        """
        removed, after = 0, None
        while time_left() >= MARGIN:
            page = self._scheduler.list(after)
            by_tenant = defaultdict[str, list[str]](list)
            for tenant, schedule_id in page.schedules:
                by_tenant[tenant].append(schedule_id)
            for tenant, ids in by_tenant.items():
                existing = self._stores.of(tenant).schedules.existing(ids)
                for orphan in (each for each in ids if each not in existing):
                    self._scheduler.delete(tenant, orphan)
                    removed += 1
            after = page.after
            if after is None:
                break
        if removed:
            logger.info("alarms removed", extra={"alarms": removed})
        return removed
