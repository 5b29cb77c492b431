"""The environment of the functions. Lambda gives each its own; one process has one, so theirs must agree.

Knows: that handlers read their settings from the process's environment, and so it is set here and put back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager


class Disagreement(Exception):
    """Two functions want different values of one variable."""


def union(environments: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """All variables of all functions. Raises: Disagreement."""
    together: dict[str, str] = {}
    for environment in environments:
        for name, value in environment.items():
            if together.setdefault(name, value) != value:
                raise Disagreement(name)
    return together


@contextmanager
def exported(variables: Mapping[str, str]) -> Iterator[None]:
    """Set the variables, and put back what was there."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
