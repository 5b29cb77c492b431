"""The administration of one tenant's budgets: set, show, list and delete them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.budgets import BudgetStanding, BudgetWindow
from hibernaut.ports.clock import Clock
from hibernaut.schemas.access.budget import TENANT, Budget, BudgetSubject, SetBudget, StoredBudget, is_subject, scope_of
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.store.stores import Stores
from hibernaut.store.table.tenants import checked

PAGE = 50
logger = logging.getLogger(__name__)


class Budgets:
    """The budgets of one tenant."""

    def __init__(self, stores: Stores, tenant: str, clock: Clock, default: SetBudget | None = None) -> None:
        """`default`: the budget of a tenant that has none. Raises: InvalidArgument if the name is not a valid tenant name."""
        self._tenant = checked(tenant)
        self._api_keys = stores.api_keys
        own = stores.of(tenant)
        self._agents = own.agents
        self._store = own.budgets
        self._writer = own.writer
        self._rates = own.request_rates
        self._clock = clock
        self._default = default

    def set(self, subject: BudgetSubject, request: SetBudget) -> Budget:
        """Set the budget of the tenant, of a key or of an agent, in place of an earlier one. The counted usage stays.

        Raises: InvalidArgument, NotFound if the tenant has no such key or agent.
        """
        self._check_exists(subject)
        before, now = self._store.get(subject), self._clock.now()
        budget = StoredBudget(
            subject=subject, created_at=before.created_at if before else now, updated_at=now, **request.model_dump()
        )
        self._writer.write(self._store.put(budget))
        self._store.forget(subject)
        self._rates.limit(subject, budget.requests_per_second)
        logger.info("budget set", extra={"tenant": self._tenant, "subject": subject, "limits": sorted(budget.limits())})
        return self._shown([budget], now)[0]

    def get(self, subject: BudgetSubject) -> Budget:
        """A budget with its usage. Raises: NotFound."""
        now = self._clock.now()
        default = StoredBudget.default(self._default, now) if subject == TENANT else None
        found = self._store.get(subject) or default
        if found is None:
            raise NotFound(f"Budget of {subject} not found: none is set.")
        return self._shown([found], now, default)[0]

    def page(self, *, after: str | None = None, limit: int = PAGE) -> Sequence[Budget]:
        """A page of the budgets in the order of their subjects: agents, keys, the tenant."""
        found, now = self._store.page(after=after, limit=limit), self._clock.now()
        default = StoredBudget.default(self._default, now)
        if (
            default is not None
            and len(found) < limit
            and (after or "") < TENANT
            and all(each.subject != TENANT for each in found)
        ):
            found.append(default)
        return self._shown(found, now, default)

    def delete(self, subject: BudgetSubject) -> None:
        """Remove a budget. Runs under way go on without it, and the deployment's default applies to the tenant again. Raises:
        NotFound.
        """
        if self._store.get(subject) is None:
            raise NotFound(f"Budget of {subject} not found: none is set.")
        self._rates.limit(subject, None)
        self._writer.write(self._store.delete(subject))
        self._store.forget(subject)
        logger.info("budget deleted", extra={"tenant": self._tenant, "subject": subject})

    def _check_exists(self, subject: str) -> None:
        if not is_subject(subject):
            raise InvalidArgument(
                f"INVALID_ARGUMENT: {subject!r} is no subject of a budget: use {TENANT}, or the id of an API key or of an agent."
            )
        match scope_of(subject):
            case "key":
                if self._api_keys.get(self._tenant, subject) is None:
                    raise NotFound(f"API key with ID {subject} not found")
            case "agent":
                if self._agents.get(subject) is None:
                    raise NotFound(f"Agent with ID {subject} not found")
            case _:
                return

    def _shown(self, found: Sequence[StoredBudget], now: datetime, default: StoredBudget | None = None) -> Sequence[Budget]:
        """Budgets with their usage. `default`: the one of them that is not stored, if it is among them."""
        return [_wire(each, now, is_default=each.budget is default) for each in self._store.standings(found, now)]


def _wire(standing: BudgetStanding, now: datetime, *, is_default: bool) -> Budget:
    window, budget = BudgetWindow.at(now), standing.budget
    return Budget(
        **budget.model_dump(exclude={"created_at", "updated_at"}),
        scope=scope_of(budget.subject),
        is_default=is_default,
        created_at=None if is_default else budget.created_at,
        updated_at=None if is_default else budget.updated_at,
        used=standing.used,
        day_ends=window.day_ends,
        month_ends=window.month_ends,
    )
