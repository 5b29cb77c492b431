"""Reports that a budget is used up, or nearly so: once for each crossing, whichever process notices it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime

from hibernaut.domain.budgets import BudgetCrossing, BudgetStanding, BudgetWindow, crossings
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.access.budget import scope_of
from hibernaut.schemas.events.facts import BudgetCrossed
from hibernaut.store.stores import TenantStores

logger = logging.getLogger(__name__)


class BudgetCrossings:
    """Finds the crossings of budgets and reports each of them once."""

    def __init__(self, stores: TenantStores) -> None:
        self._tenant = stores.tenant
        self._budgets = stores.budgets
        self._events = stores.events
        self._writer = stores.writer

    def report(self, standings: Iterable[BudgetStanding], now: datetime) -> None:
        """Report the crossings that no process has reported in this window. A crossing costs one write, anything else none."""
        window = BudgetWindow.at(now)
        for standing in standings:
            for crossing in crossings(standing):
                if crossing.mark(window) not in standing.reported and self._is_first(crossing, window, now):
                    self._raise(crossing)

    def _is_first(self, crossing: BudgetCrossing, window: BudgetWindow, now: datetime) -> bool:
        mark, types = crossing.mark(window), self._events.types()
        token = f"{self._tenant}.{crossing.subject}.{window.month}.{mark}"
        event = self._events.put([_fact(crossing)], types, token, now)
        try:
            self._writer.write(self._budgets.mark_reported(crossing.subject, mark, now), *event)
        except ConditionFailed:
            return False
        return True

    def _raise(self, crossing: BudgetCrossing) -> None:
        """Tell the log. The event was written together with the mark of the crossing."""
        logger.warning(
            "budget crossed",
            extra={
                "tenant": self._tenant,
                "scope": scope_of(crossing.subject),
                "subject": crossing.subject,
                "budget": crossing.limit_name,
                "crossing": crossing.level,
                "limit": str(crossing.limit),
                "used": str(crossing.used),
            },
        )


def _fact(crossing: BudgetCrossing) -> BudgetCrossed:
    scope = scope_of(crossing.subject)
    return BudgetCrossed(
        subject=crossing.subject,
        scope=scope,
        budget=crossing.limit_name,
        level=crossing.level,
        limit=str(crossing.limit),
        used=str(crossing.used),
        agent_id=crossing.subject if scope == "agent" else None,
    )
