"""The private addresses that a deployment's outward requests may reach: the variables of its functions. Plain values."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.wiring.outward import ADDRESSES, PAGES, outward_in

OUTWARD_CONTEXT = {"privateAddresses": ADDRESSES, "privatePages": PAGES}
"""The context's words, and the variable of each."""


def outward_variables_in(context: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The variables by name; none where only the public internet is reached. Raises: ValueError."""
    variables = {variable: str(context[word]) for word, variable in OUTWARD_CONTEXT.items() if context.get(word)}
    outward_in(variables, home=False)
    return tuple(variables.items())
