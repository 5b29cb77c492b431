"""`hibernaut budgets`: sets, lists and deletes the budgets of a data folder or of a deployed stack.

Knows the terminal; must not know how budgets are stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from hibernaut.local.administration.keys import KeyPlace, opened
from hibernaut.schemas.access.budget import Budget, SetBudget
from hibernaut.services.budgets.administration import Budgets


def set_budget(place: KeyPlace, subject: str, fields: Mapping[str, object], *, as_json: bool) -> None:
    """Set a budget and print it. Raises: CannotServe, BadSetting."""
    with opened(place) as access:
        budget = access.budgets_of(place.tenant).set(subject, SetBudget.model_validate(fields))
    print(budget.model_dump_json() if as_json else f"Set {_line(budget)}. A running server applies it within 5 seconds.")


def list_budgets(place: KeyPlace, *, as_json: bool) -> None:
    """Print all budgets of a tenant with what is used of them. Raises: CannotServe, BadSetting."""
    with opened(place) as access:
        found = list(_all(access.budgets_of(place.tenant)))
    if as_json:
        print("[" + ",\n ".join(budget.model_dump_json() for budget in found) + "]")
        return
    for budget in found:
        print(_line(budget))
    if not found:
        print(f"The tenant {place.tenant} has no budgets.")


def delete(place: KeyPlace, subject: str, *, as_json: bool) -> None:
    """Delete a budget. Raises: CannotServe, BadSetting."""
    with opened(place) as access:
        access.budgets_of(place.tenant).delete(subject)
    message = f"Deleted the budget of {subject}. A running server forgets it within 5 seconds."
    print(json.dumps({"tenant": place.tenant, "deleted": subject}) if as_json else message)


def _all(budgets: Budgets) -> Iterator[Budget]:
    after = None
    while page := budgets.page(after=after):
        yield from page
        after = page[-1].subject


def _line(budget: Budget) -> str:
    figures = ", ".join(f"{name} {budget.used.of(name)} of {limit}" for name, limit in budget.limits().items())
    return f"{budget.subject}{' (default)' if budget.is_default else ''}: {figures}"
