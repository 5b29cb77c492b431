"""Checks a request's body against the typed dictionaries of a provider's SDK: unknown members, missing members, values outside a
literal.

    complaints(body, MessageCreateParamsStreaming)  →  [("messages.0.content.1.foo", "Extra inputs are not permitted"), …]

A type becomes a check once: the kit asks the same types about thousands of requests. Knows types; no provider.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin

import typing_extensions

Complaint = tuple[str, str]
TypeCheck = Callable[[Any, str], list[Complaint]]
"""What a type does not allow of a value at a place."""
EXTRA = "Extra inputs are not permitted"
MISSING = "Field required"
_MARKERS = {
    mark
    for module in (typing, typing_extensions)
    for name in ("Required", "NotRequired", "ReadOnly", "Annotated")
    if (mark := getattr(module, name, None))
}
_REQUIRED = frozenset(mark for mark in (getattr(typing, "Required", None), typing_extensions.Required) if mark)
_OPTIONAL = frozenset(mark for mark in (getattr(typing, "NotRequired", None), typing_extensions.NotRequired) if mark)
_PLAIN = {str: str, bool: bool, int: int, float: (int, float), types.NoneType: types.NoneType, None: types.NoneType}


def complaints(value: Any, kind: Any, *, more: Collection[str] = ()) -> list[Complaint]:
    """What the type does not allow, with its place. `more`: members of the outermost object that the server takes beside the
    type's.
    """
    if isinstance(value, dict):
        value = {name: each for name, each in value.items() if name not in more}
    return _check(kind)(value, "")


@lru_cache(maxsize=5000)
def _check(kind: Any) -> TypeCheck:
    """The check of a type. Those of its parts are made when they are first needed, because a type may contain itself."""
    kind = _bare(kind)
    if typing_extensions.is_typeddict(kind):
        return _object(kind)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _any_of(get_args(kind))
    if origin is Literal:
        return _literal(get_args(kind))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return lambda value, place: [] if isinstance(value, dict) else [(place, "Input should be an object")]
    if isinstance(origin, type) and issubclass(origin, Iterable) and origin is not str:
        return _list(*(get_args(kind)[:1] or (Any,)))
    return _plain(kind)


def _object(kind: Any) -> TypeCheck:
    hints, required, is_open = _hints(kind), _required(kind), _open(kind)

    def check(value: Any, place: str) -> list[Complaint]:
        if not isinstance(value, dict):
            return [(place, "Input should be an object")]
        found = [] if is_open else [(_at(place, name), EXTRA) for name in value if name not in hints]
        found += [(_at(place, name), MISSING) for name in required if name not in value]
        for name, hint in hints.items():
            if name in value:
                found += _check(hint)(value[name], _at(place, name))
        return found

    return check


def _any_of(kinds: Sequence[Any]) -> TypeCheck:
    """The complaints of the variant that fits best: the one with this `type` or `role`, and of these the one with the fewest."""

    def check(value: Any, place: str) -> list[Complaint]:
        # A variant whose literals are others cannot fit: it is looked at only if none fits.
        likely = [kind for kind in kinds if _may_be(value, kind)]
        for kind in likely:
            if not _check(kind)(value, place):
                return []
        tried = ((_discriminated(value, kind), _check(kind)(value, place)) for kind in kinds)
        return max(tried, key=lambda each: (each[0], -len(each[1])))[1]

    return check


def _may_be(value: Any, kind: Any) -> bool:
    """Whether no literal member of the value is one that the variant does not have."""
    if not isinstance(value, dict):
        return True
    return all(name not in value or value[name] in literals for name, literals in _discriminators(kind).items())


def _discriminated(value: Any, kind: Any) -> int:
    """How many of the literal members (`type`, `role`) of the variant are as in the value."""
    if not typing_extensions.is_typeddict(_bare(kind)) or not isinstance(value, dict):
        return -1
    return sum(value.get(name) in literals for name, literals in _discriminators(kind).items())


@lru_cache(maxsize=5000)
def _discriminators(kind: Any) -> Mapping[str, Sequence[Any]]:
    """The literal members of a typed dictionary; of another type none."""
    kind = _bare(kind)
    if not typing_extensions.is_typeddict(kind):
        return {}
    hints = {name: _bare(hint) for name, hint in _hints(kind).items()}
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}


def _literal(allowed: Sequence[Any]) -> TypeCheck:
    text = f"Input should be one of {sorted(map(str, allowed))}"
    return lambda value, place: [] if value in allowed else [(place, text)]


def _list(kind: Any) -> TypeCheck:
    def check(value: Any, place: str) -> list[Complaint]:
        if not isinstance(value, list):
            return [(place, "Input should be a list")]
        each_check = _check(kind)
        return [found for at, each in enumerate(value) for found in each_check(each, _at(place, str(at)))]

    return check


def _plain(kind: Any) -> TypeCheck:
    if kind not in _PLAIN:
        return lambda _value, _place: []
    wanted, text = _PLAIN[kind], f"Input should be a valid {getattr(kind, '__name__', 'null')}"
    is_number = kind in (int, float)

    def check(value: Any, place: str) -> list[Complaint]:
        return [] if isinstance(value, wanted) and not (is_number and isinstance(value, bool)) else [(place, text)]  # type: ignore[arg-type]

    return check


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _bare(kind: Any) -> Any:
    """The type without the marks of a member."""
    while get_origin(kind) in _MARKERS or hasattr(kind, "__metadata__"):
        kind = get_args(kind)[0]
    return kind


def _open(kind: Any) -> bool:
    return (getattr(kind, "__pydantic_config__", None) or {}).get("extra") == "allow"


@lru_cache(maxsize=2000)
def _required(kind: Any) -> frozenset[str]:
    """The members that must be there. `__required_keys__` does not know them where a module's annotations are texts (PEP 563)."""
    marked = typing_extensions.get_type_hints(kind, include_extras=True)
    return frozenset(
        name
        for name, hint in marked.items()
        if get_origin(hint) in _REQUIRED or (name in kind.__required_keys__ and get_origin(hint) not in _OPTIONAL)
    )


@lru_cache(maxsize=2000)
def _hints(kind: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(kind)
