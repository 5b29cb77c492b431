"""Random arguments for any method of a store, built from the contents of a table: ids, records, items, keys, changes."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from hibernaut.ports.storage.table import Check, Delete, Item, Key, Put, Update
from hibernaut.schemas.agents.agent import StoredSecret
from hibernaut.schemas.stored import Stored
from hibernaut.store.access.budgets import BudgetReading
from hibernaut.store.agents.pauses import PauseReading
from hibernaut.store.events.outbox import WantedReading
from hibernaut.store.runs.step_reads import BatchReading
from hibernaut.store.table.secret_vault import SealedVariable

AT = datetime(2026, 1, 1, tzinfo=UTC)
DEEPEST = 3
PLAIN = {int: 2, bool: True, bytes: b"x", datetime: AT, float: 1.0, object: "x", Any: "x", type(None): None}
Choose = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Holdings:
    """The contents of a table and its blobs: items, keys of blobs, and words (ids and parts of keys)."""

    items: Sequence[Item]
    blobs: Sequence[str]
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class DrawnReading:
    """The part of a batch that `BudgetReading` and `WantedReading` ask for, with any keys."""

    keys: Sequence[Key]

    def take(self, found: Mapping[Key, Item]) -> None:
        """Ignores what was found."""


class DrawnArguments:
    """Builds arguments from holdings. `choose` picks one of several values."""

    def __init__(self, holdings: Holdings, choose: Choose) -> None:
        self._there = holdings
        self._choose = choose

    def of(self, method: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the keyword arguments for a method, by its type hints."""
        hints = get_type_hints(method, localns={"PauseReading": PauseReading})  # which stores import for type checkers alone
        given: list[Any] = []
        named: dict[str, Any] = {}
        for name, parameter in inspect.signature(method).parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                given += self._some(hints[name])
            elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                named[name] = self.value(hints[name])
            else:
                given.append(self.value(hints[name]))
        return given, named

    def value(self, hint: Any, depth: int = 0) -> Any:
        origin, inside = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return self.value(self._choose([each for each in inside if each is not type(None)] or inside), depth)
        if origin is Literal:
            return self._choose(inside)
        if origin is tuple and Ellipsis not in inside:
            return tuple(self.value(each, depth) for each in inside)
        if hint == Item:
            return self._choose(self._there.items)
        if origin in (Sequence, Iterable, list, tuple, set, frozenset):
            found = self._some(inside[0], depth) if depth < DEEPEST else []
            return tuple(found) if origin is tuple else set(found) if origin in (set, frozenset) else found
        if origin in (Mapping, dict):
            return {}
        if origin is not None and origin is not type:
            return lambda *_: None
        return self._plain(hint, depth)

    def _some(self, hint: Any, depth: int = 0) -> list[Any]:
        return [self.value(hint, depth + 1) for _ in range(self._choose((1, 2)))]

    def _plain(self, hint: Any, depth: int) -> Any:
        if hint is str or isinstance(hint, TypeVar):
            return self._choose(self._there.words)
        if hint in PLAIN:
            return PLAIN[hint]
        if hint is Key:
            item = self._choose(self._there.items)
            return Key(str(item["pk"]), str(item["sk"]))
        if hint is Put:
            return Put(self._choose(self._there.items))
        if hint in (Update, Delete, Check):
            key, blob = self._plain(Key, depth), self._choose(self._there.blobs)
            return Check(key, ()) if hint is Check else hint(key, frees=blob)
        if hint is SealedVariable:
            return StoredSecret(id="", key="KEY", value="x", agent_id="", value_enc=None)
        if hint in (BatchReading, BudgetReading, PauseReading, WantedReading):
            return DrawnReading([self._plain(Key, depth)])
        if isinstance(hint, type) and issubclass(hint, Enum):
            return self._choose(list(hint))
        return self._record(hint, depth)

    def _record(self, kind: Any, depth: int) -> Any:
        hints = get_type_hints(kind)
        if issubclass(kind, BaseModel):
            wanted = [name for name, field in kind.model_fields.items() if field.is_required() or name.endswith(("_id", "_ids"))]
            made = kind.model_construct(**{name: self.value(hints[name], depth + 1) for name in wanted})
            if isinstance(made, Stored):
                made.read_from(self._choose(self._there.blobs))
            return made
        if is_dataclass(kind):
            wanted = [one.name for one in fields(kind) if one.init and (one.default is MISSING or depth == 0)]
            return kind(**{name: self.value(hints[name], depth + 1) for name in wanted})
        return kind(**{name: self.value(hint, depth + 1) for name, hint in hints.items()})
