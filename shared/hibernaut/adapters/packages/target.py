"""The Python and the platform of the packages: those of this process. On AWS the function that builds packages has the same
Python and machine as the function that runs tools.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.tags import Tag


def target_name() -> str:
    """The name of this process's Python and platform, like `cpython-313-linux-aarch64`."""
    return f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"


class WheelTarget:
    """What fits this Python on this machine."""

    def __init__(self) -> None:
        self.name = target_name()

    def rank(self, tags: Iterable[Tag]) -> int | None:
        """How well a wheel with these tags fits: 0 fits best. None: it does not."""
        ranks = _ranks()
        found = [ranks[tag] for tag in tags if tag in ranks]
        return min(found) if found else None

    def admits(self, python: str) -> bool:
        """Whether a wheel with this `Requires-Python` fits. What is no condition is none."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        if not python:
            return True
        try:
            return SpecifierSet(python).contains(_python(), prereleases=True)
        except InvalidSpecifier:
            return True

    def needs(self, marker: object, extras: Iterable[str]) -> bool:
        """Whether a dependency with this marker applies to a package with these extras."""
        from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

        if not isinstance(marker, Marker):
            return True
        try:
            return any(marker.evaluate({"extra": extra}) for extra in extras)
        except (UndefinedComparison, UndefinedEnvironmentName):
            return True

    @property
    def description(self) -> str:
        """The target as a user reads it."""
        return f"Python {_python()} on {sysconfig.get_platform()}"


@cache
def _ranks() -> dict[Tag, int]:
    from packaging.tags import sys_tags

    return {tag: rank for rank, tag in enumerate(sys_tags())}


def _python() -> str:
    return ".".join(map(str, sys.version_info[:3]))
