"""A limit on the work for one caller's input, counted in steps and not in seconds.

Short inputs can require exponential work: references that double at every level, classes with multiple inheritance. Pure.
"""

from __future__ import annotations


class BudgetSpent(Exception):
    """The input needs more work than the budget allows."""


class StepBudget:
    """A budget of `most` steps, of which `spent` are used."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.spent = 0

    def spend(self, steps: int = 1) -> None:
        """Count `steps`. Raises: BudgetSpent if the budget is exceeded."""
        self.spent += steps
        if self.spent > self._most:
            raise BudgetSpent
