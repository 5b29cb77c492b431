"""Replaces functions of a library that is loaded, so that doing it again does no harm.

Knows: attributes. Must not know: which library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ORIGINAL = "__hibernaut_original__"


def put(owner: Any, name: str, value: Any) -> None:
    """Put something of our own in the place of `owner.name`, of which nothing is needed any more."""
    setattr(owner, name, value)


def replace(owner: Any, name: str, build: Callable[[Any], Any]) -> None:
    """Put `build(original)` in the place of `owner.name`. The original is remembered: the next time replaces the replacement."""
    current = getattr(owner, name)
    original = getattr(current, _ORIGINAL, current)
    replacement = build(original)
    setattr(replacement, _ORIGINAL, original)
    setattr(owner, name, replacement)
