"""Budgets: what a tenant, a key and an agent may use. All of it is ours."""

from __future__ import annotations

from tests.compat.manifest.form import diverging

V1 = "V1 has no budgets."
ROWS = (
    diverging(
        "budgets.administration",
        "API 2",
        "/v1/budgets sets, lists, shows and deletes the budgets of the tenant, of keys and of agents, with what is used of them.",
        V1,
    ),
    diverging(
        "budgets.refusal",
        "API 1.6",
        "A message beyond a budget is 429 with `Retry-After` and the budget's name; `x-should-retry: false` where only time helps.",
        V1,
    ),
    diverging(
        "budgets.stop_reason",
        "API 4.7",
        "A run that reaches a budget between two steps is `completed` with the stop reason `budget_exceeded`; its messages stay.",
        V1,
    ),
)
