"""Budgets, for administrators of a tenant. Hibernaut's own; V1 has none."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheBudgets
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import BudgetListQuery
from hibernaut.schemas.access.budget import Budget, BudgetSubject, SetBudget

router = APIRouter(prefix="/v1/budgets", tags=["budgets"], route_class=LazyRoute)


@router.get("", response_model=list[Budget])
def list_budgets(budgets: TheBudgets, query: BudgetListQuery) -> Response:
    """A page of the tenant's budgets, with what is used of them."""
    return replies(budgets.page(after=query.after, limit=query.limit))


@router.get("/{subject}", response_model=Budget)
def retrieve_budget(budgets: TheBudgets, subject: BudgetSubject) -> Response:
    """The budget of the tenant (`tenant`), of a key or of an agent, with what is used of it and when its figures begin at zero
    again.
    """
    return reply(budgets.get(subject))


@router.put("/{subject}", response_model=Budget)
def set_budget(budgets: TheBudgets, subject: BudgetSubject, request: SetBudget) -> Response:
    """Set the budget of the tenant (`tenant`), of a key or of an agent, in place of an earlier one."""
    return reply(budgets.set(subject, request))


@router.delete("/{subject}")
def delete_budget(budgets: TheBudgets, subject: BudgetSubject) -> Response:
    """Remove a budget."""
    budgets.delete(subject)
    return plain(None)
