"""Replaces functions of a loaded library; idempotent.

Knows: attributes. Must not know: which library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ORIGINAL = "__hibernaut_original__"


def put(owner: Any, name: str, value: Any) -> None:
    """Replace `owner.name` by a value that does not need the original."""
    setattr(owner, name, value)


def replace(owner: Any, name: str, build: Callable[[Any], Any]) -> None:
    """Replace `owner.name` by `build(original)`. The original is remembered, so that a later call replaces the replacement."""
    original = original_of(getattr(owner, name))
    put(owner, name, instead_of(original, build(original)))


def instead_of(original: Any, replacement: Any) -> Any:
    """The replacement, which remembers the original."""
    setattr(replacement, _ORIGINAL, original)
    return replacement


def original_of(current: Any) -> Any:
    """What was in the place of a replacement; what was never replaced, itself."""
    return getattr(current, _ORIGINAL, current)
