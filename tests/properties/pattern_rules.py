"""A rule for regular expressions: no two repetitions without a limit stand side by side over the same characters.

In a text of such characters, an engine that backtracks tries each way to divide them, in a time that grows with the square of
their number, or with a higher power for more repetitions. A possessive repetition (`*+`) gives nothing back, so what follows it
does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from re import _compiler, _parser

SAMPLE = [chr(code) for code in (*range(0x180), 0x301, 0x661, 0x2028, 0x3000, 0x4E00)]
_ONE = {"LITERAL", "NOT_LITERAL", "IN", "ANY"}
_LOOPS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
_UNLIMITED = 1_000

Characters = frozenset[str]


@dataclass
class Part:
    """What counts of a part of a pattern: the repetitions that it may begin and end with, and whether it may match nothing."""

    heads: list[Characters] = field(default_factory=list)
    tails: list[Characters] = field(default_factory=list)
    nullable: bool = False


def faults(pattern: re.Pattern[str] | re.Pattern[bytes]) -> list[str]:
    """The pairs of repetitions side by side, each as a sample of their common characters."""
    return _Check(pattern).faults


class _Check:
    """The check of one pattern."""

    def __init__(self, pattern: re.Pattern[str] | re.Pattern[bytes]) -> None:
        self._flags = pattern.flags
        self._sample = SAMPLE if isinstance(pattern.pattern, str) else [bytes([code]) for code in range(0x100)]
        self.faults: list[str] = []
        self._sequence(_parser.parse(pattern.pattern, pattern.flags))

    def _sequence(self, nodes: Iterable[tuple[object, object]]) -> Part:
        whole, before = Part(nullable=True), list[Characters]()
        for node in nodes:
            part = self._part(node)
            self._compare(before, part.heads)
            if whole.nullable:
                whole.heads += part.heads
            before = part.tails + (before if part.nullable else [])
            whole.nullable &= part.nullable
        whole.tails = before
        return whole

    def _part(self, node: tuple[object, object]) -> Part:
        kind, value = str(node[0]), node[1]
        if kind in _LOOPS:
            return self._loop(kind, value)
        if kind == "SUBPATTERN":
            return self._sequence(value[3])
        if kind == "ATOMIC_GROUP":
            inner = self._sequence(value)
            return Part(inner.heads, [], inner.nullable)
        if kind == "BRANCH":
            parts = [self._sequence(branch) for branch in value[1]]
            heads, tails = [one for part in parts for one in part.heads], [one for part in parts for one in part.tails]
            return Part(heads, tails, any(part.nullable for part in parts))
        if kind in {"ASSERT", "ASSERT_NOT"}:
            inner = self._sequence(value[1])
            return Part(inner.heads if value[0] > 0 else [], [], nullable=True)
        return Part(nullable=kind not in _ONE)

    def _loop(self, kind: str, value: tuple[int, int, Sequence[tuple[object, object]]]) -> Part:
        least, most, body = value
        possessive, endless = kind == "POSSESSIVE_REPEAT", most >= _UNLIMITED
        if len(body) == 1 and str(body[0][0]) in _ONE:
            found = [self._characters(body)] if endless else []
            return Part(found, [] if possessive else found, nullable=not least)
        part = self._sequence(body)
        if endless:
            self._compare(part.tails, part.heads)
        return Part(part.heads, [] if possessive else part.tails, part.nullable or not least)

    def _compare(self, before: list[Characters], after: list[Characters]) -> None:
        self.faults += ["".join(sorted(one & other)[:5]) for one in before for other in after if one & other]

    def _characters(self, body: object) -> Characters:
        matches = _compiler.compile(body, self._flags).fullmatch
        return frozenset(str(each) for each in self._sample if matches(each))
