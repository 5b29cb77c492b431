"""The environment variables of the functions. On Lambda each function has its own; here all share one process, so they must
agree.

Knows: that handlers read their settings from the process's environment. It sets the variables and restores the old ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager


class Disagreement(Exception):
    """Two functions need different values for one variable."""


def union(environments: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The variables of all functions. Raises: Disagreement."""
    together: dict[str, str] = {}
    for environment in environments:
        for name, value in environment.items():
            if together.setdefault(name, value) != value:
                raise Disagreement(name)
    return together


@contextmanager
def exported(variables: Mapping[str, str]) -> Iterator[None]:
    """Set the variables for the context, then restore the old ones."""
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
