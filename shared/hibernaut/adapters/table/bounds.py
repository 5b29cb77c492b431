"""The range of sort keys that a query asks for.

Knows: that sort keys are ordered by code point. Must not know: how an engine reads a range.
"""

from __future__ import annotations

from hibernaut.schemas.immutable import immutable

_LAST = 0x10FFFF
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000


@immutable
class Bounds:
    """From `low` (None: from the beginning) up to, but without, `high` (None: to the end)."""

    low: str | None
    low_included: bool
    high: str | None

    def admits(self, sk: str) -> bool:
        """Does the sort key stand within?"""
        if self.low is not None and (sk < self.low or (sk == self.low and not self.low_included)):
            return False
        return self.high is None or sk < self.high

    @property
    def nothing(self) -> bool:
        """Can no sort key stand within?"""
        return self.high is not None and (self.high == "" or (self.low is not None and self.low >= self.high))


def bounds(after: str | None, before: str | None, prefix: str) -> Bounds:
    """The sort keys with after < sk < before that begin with `prefix`."""
    low, low_included = (prefix or None), True
    if after and after >= prefix:
        low, low_included = after, False
    high = _end_of(prefix)
    if before is not None and (high is None or before < high):
        high = before
    return Bounds(low, low_included, high)


def _end_of(prefix: str) -> str | None:
    """The first text behind all that begin with `prefix` (None: there is none, as for the empty one)."""
    rest = prefix.rstrip(chr(_LAST))
    if not rest:
        return None
    last = ord(rest[-1])
    return rest[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)
