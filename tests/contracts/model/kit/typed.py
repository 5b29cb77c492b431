"""Checks a request's body against the typed dictionaries of a provider's SDK: unknown members, missing members, values outside a literal.

    complaints(body, MessageCreateParamsStreaming)  →  [("messages.0.content.1.foo", "Extra inputs are not permitted"), …]

Knows types; no provider.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin

import typing_extensions

Complaint = tuple[str, str]
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


def complaints(value: Any, kind: Any, place: str = "", *, more: Iterable[str] = ()) -> list[Complaint]:
    """What the type does not allow, with its place. `more`: members of the outermost object that the server takes beside the type's."""
    kind = _bare(kind)
    if typing_extensions.is_typeddict(kind):
        return _object(value, kind, place, frozenset(more))
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _any_of(value, get_args(kind), place)
    if origin is Literal:
        return [] if value in get_args(kind) else [(place, f"Input should be one of {sorted(map(str, get_args(kind)))}")]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return [] if isinstance(value, dict) else [(place, "Input should be an object")]
    if isinstance(origin, type) and issubclass(origin, Iterable) and origin is not str:
        return _list(value, get_args(kind), place)
    return _plain(value, kind, place)


def _object(value: Any, kind: Any, place: str, more: frozenset[str]) -> list[Complaint]:
    if not isinstance(value, dict):
        return [(place, "Input should be an object")]
    hints = _hints(kind)
    found = [(_at(place, name), EXTRA) for name in value if name not in hints and name not in more and not _open(kind)]
    found += [(_at(place, name), MISSING) for name in _required(kind) if name not in value]
    for name, hint in hints.items():
        if name in value:
            found += complaints(value[name], hint, _at(place, name))
    return found


def _any_of(value: Any, kinds: Sequence[Any], place: str) -> list[Complaint]:
    """The complaints of the variant that fits best: the one with this `type` or `role`, and of these the one with the fewest."""
    tried = []
    for kind in kinds:
        found = complaints(value, kind, place)
        if not found:
            return []
        tried.append((_discriminated(value, kind), -len(found), found))
    return max(tried, key=lambda each: each[:2])[2]


def _discriminated(value: Any, kind: Any) -> int:
    """How many of the literal members (`type`, `role`) of the variant are as in the value."""
    kind = _bare(kind)
    if not typing_extensions.is_typeddict(kind) or not isinstance(value, dict):
        return -1
    hints = {name: _bare(hint) for name, hint in _hints(kind).items()}
    return sum(get_origin(hint) is Literal and value.get(name) in get_args(hint) for name, hint in hints.items())


def _list(value: Any, kinds: Sequence[Any], place: str) -> list[Complaint]:
    if not isinstance(value, list):
        return [(place, "Input should be a list")]
    return [found for at, each in enumerate(value) for found in complaints(each, kinds[0] if kinds else Any, _at(place, str(at)))]


def _plain(value: Any, kind: Any, place: str) -> list[Complaint]:
    wanted = {str: str, bool: bool, int: int, float: (int, float), types.NoneType: types.NoneType, None: types.NoneType}
    if kind not in wanted:
        return []
    fits = isinstance(value, wanted[kind]) and not (isinstance(value, bool) and kind in (int, float))  # type: ignore[arg-type]
    return [] if fits else [(place, f"Input should be a valid {getattr(kind, '__name__', 'null')}")]


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
