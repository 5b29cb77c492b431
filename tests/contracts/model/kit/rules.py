"""What a rule of a provider is: a check of one request against what the provider's documentation says and against what was said
before.

A rule's `source` names where the fact stands: a file of the provider's SDK types, a page of its documentation, or an issue thread
(repository#number). A rule without a source is an opinion and does not belong here. Knows requests as values; no wire, no server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.provider_http import Recorded, Wire


@dataclass(frozen=True)
class ErrorResponse:
    """An error response in the provider's own form."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    def wire(self) -> Wire:
        return {"status": self.status, "body": self.body, "headers": dict(self.headers)}


@dataclass(frozen=True)
class Issued:
    """A reply that the server gave: the request that it answered, and its items in the wire's own form, in order."""

    asked: Recorded
    items: tuple[Wire, ...]


@dataclass
class ServerMemory:
    """What a server has said and done: its replies in order, what each signature stands for, and how many blocks it dropped.
    `account`: the access key and its secret that requests are signed with; None: those of the process.
    """

    issued: list[Issued] = field(default_factory=list)
    seals: dict[str, Wire] = field(default_factory=dict)
    dropped: int = 0
    account: tuple[str, str] | None = None

    def items(self, kind: str | None = None) -> list[Wire]:
        """All items that were ever issued; those of one type, if `kind` is given."""
        return [item for each in self.issued for item in each.items if kind is None or item.get("type") == kind]


Check = Callable[[Recorded, ServerMemory], ErrorResponse | None]


@dataclass(frozen=True)
class Rule:
    """A documented rule. `check` returns the refusal of a request that breaks it, or None."""

    name: str
    source: str
    check: Check


@dataclass(frozen=True)
class BrokenRule:
    """A rule that a request broke, and how the provider said so."""

    rule: Rule
    refusal: ErrorResponse

    def __str__(self) -> str:
        return f"{self.rule.name} ({self.rule.source}): {self.refusal.status} {self.refusal.body}"


def first_broken(rules: Sequence[Rule], asked: Recorded, memory: ServerMemory) -> BrokenRule | None:
    """The first rule that the request breaks."""
    for rule in rules:
        if refusal := rule.check(asked, memory):
            return BrokenRule(rule, refusal)
    return None
