"""Where a deployment's tools get their packages: the variables of the function that builds them. Plain values."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.wiring.configuration.tool_settings import INDEX, SIZE, packages_in

PACKAGE_CONTEXT = {"packageIndex": INDEX, "packageSize": SIZE}
"""The context's words, and the variable of each."""
LARGEST = 250
"""Megabytes: what the temporary folders of the functions hold."""


def package_variables_in(context: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The variables by name; none where the server's defaults hold. Raises: ValueError."""
    variables = {variable: str(context[word]) for word, variable in PACKAGE_CONTEXT.items() if context.get(word)}
    packages = packages_in(variables)
    if "@" in packages.index:
        raise ValueError(
            "packageIndex must be an address without a password, because everybody who may read the function's settings reads it"
        )
    if packages.size > LARGEST * 1024 * 1024:
        raise ValueError(f"packageSize must be from 1 to {LARGEST} megabytes")
    return tuple(variables.items())
