"""A bound of the work that reading a caller's input may take, counted in steps rather than in seconds.

Short inputs can ask for endless work: references that double at every level, classes that inherit twice. Pure.
"""

from __future__ import annotations


class BudgetSpent(Exception):
    """The input asks for more work than is done for one."""


class StepBudget:
    """`spent` counts the steps so far; of at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.spent = 0

    def spend(self, steps: int = 1) -> None:
        """Raises: BudgetSpent."""
        self.spent += steps
        if self.spent > self._most:
            raise BudgetSpent
