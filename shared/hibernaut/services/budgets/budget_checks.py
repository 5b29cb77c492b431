"""Checks budgets before a model is called: when a request is accepted, and before each step of its run.

The check of a request decides which budgets apply to its run; they stay with the run to its end. A budget that is set later
applies to later runs. Its limits may change meanwhile, and every step reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hibernaut.domain.budgets import (
    CONCURRENT_RUNS,
    BudgetCrossing,
    BudgetStanding,
    BudgetWindow,
    Spending,
    exhausted,
    resets_at,
    seconds_until,
)
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.access.budget import TENANT, LimitName, RunBudgets, RunSlot, StoredBudget
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.errors import BudgetExceeded
from hibernaut.services.budgets.crossings import BudgetCrossings
from hibernaut.services.host import Host
from hibernaut.store.access.budgets import BudgetReading
from hibernaut.store.stores import TenantStores

SLOT_WAIT = 2
"""Seconds after which a request that found too many runs may be sent again."""


class BudgetChecks:
    """Checks the budgets of one tenant."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._store = stores.budgets
        self._writer = stores.writer
        self._clock = host.clock
        self._ids = host.ids
        self._crossings = BudgetCrossings(stores)
        self._default = StoredBudget.default(host.tenant_budget, host.clock.now())

    def reading(self, subjects: Sequence[str]) -> BudgetReading:
        """A read of the budgets of these subjects, for a batch that the caller sends."""
        return self._store.reading(subjects, self._clock.now(), self._default)

    def admit(self, reading: BudgetReading, *, replaces: bool = False) -> RunBudgets | None:
        """The budgets of a new run; None: there are none. `replaces`: the run ends another one, whose slots it takes over.

        Raises: BudgetExceeded.
        """
        standings = reading.standings()
        if not standings:
            return None
        slots: list[RunSlot] = []
        for standing in standings:
            self._check(standing, slots=not replaces)
            subject, limit = standing.budget.subject, standing.budget.concurrent_runs
            if limit is not None:
                if not reading.counts_runs(subject):
                    with suppress(ConditionFailed):
                        self._writer.write(self._store.open_counter(subject))
                slots.append(RunSlot(subject=subject, limit=limit))
        return RunBudgets(subjects=[each.budget.subject for each in standings], slots=slots)

    def admit_call(self, agent_id: str | None, key_id: str | None) -> RunBudgets | None:
        """The budgets of a model call without a run, which may be no agent's; None: there are none. Raises: BudgetExceeded."""
        standings = self.reading(subjects_of(agent_id, key_id)).standings()
        for standing in standings:
            self._check(standing, slots=False)
        return RunBudgets(subjects=[each.budget.subject for each in standings]) if standings else None

    def spend(self, budgets: RunBudgets | None, spending: Spending) -> None:
        """Count what a model call without a run has used."""
        token = self._ids.token()
        changes = self._store.spent_alone(budgets, token, spending, self._clock.now())
        if changes:
            self._writer.write(*changes, token=token)

    def of_run(self, budgets: RunBudgets | None) -> BudgetReading | None:
        """A read of the budgets that apply to a run; None: there are none."""
        return self.reading(budgets.subjects) if budgets is not None else None

    def reached(self, standings: Sequence[BudgetStanding]) -> BudgetCrossing | None:
        """The limit that keeps a run from another step; None: it may go on."""
        return next((reached for each in standings if (reached := exhausted(each)) is not None), None)

    def report(self, standings: Sequence[BudgetStanding], spent: Spending) -> None:
        """Report the limits that a committed step has crossed."""
        if standings:
            self._crossings.report([each.after(spent) for each in standings], self._clock.now())

    def _check(self, standing: BudgetStanding, *, slots: bool) -> None:
        """Raises: BudgetExceeded if a limit of the budget is reached."""
        limit = standing.budget.concurrent_runs
        if slots and limit is not None and standing.used.concurrent_runs >= limit:
            raise self._refusal(standing.budget.subject, CONCURRENT_RUNS, limit, standing.used.concurrent_runs)
        exceeded = exhausted(standing)
        if exceeded is not None:
            self._crossings.report([standing], self._clock.now())
            raise self._refusal(exceeded.subject, exceeded.limit_name, exceeded.limit, exceeded.used)

    def _refusal(self, subject: str, name: LimitName, limit: object, used: object) -> BudgetExceeded:
        now = self._clock.now()
        ends = resets_at(name, BudgetWindow.at(now))
        owner = "the tenant" if subject == TENANT else subject
        advice = "It begins again" if ends else "Send the request again when a run has ended."
        time = f" at {wire_time(ends)}." if ends else ""
        return BudgetExceeded(
            f"BUDGET_EXCEEDED: The budget {name} of {owner} is used up: {used} of {limit}. {advice}{time}",
            budget=name,
            subject=subject,
            resets_at=wire_time(ends) if ends else None,
            retry_after=seconds_until(ends, now) if ends else SLOT_WAIT,
        )


def subjects_of(agent_id: str | None, key_id: str | None) -> list[str]:
    """The subjects whose budgets bound a run, or a call without one."""
    return [TENANT, *(subject for subject in (key_id, agent_id) if subject is not None)]
