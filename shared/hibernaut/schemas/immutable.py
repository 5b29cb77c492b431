"""Immutable classes of data: the decorator `immutable`, which every class takes that would be `@dataclass(frozen=True, slots=True)`.

`dataclasses` writes six functions for each class as text, which Python compiles at every import, because byte code does not keep them. That was a
sixth of the CPU time of a cold function (decision 68). The functions here are closures over the fields; all else is that of `dataclasses`, so that
`replace`, `fields`, `asdict`, `match` and type checkers treat the class as a dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter, itemgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

C = TypeVar("C")
Function = Callable[..., Any]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(cls: type[C]) -> type[C]:
    """The class with slots for its fields, and with the functions of a frozen dataclass. A function that the class defines itself stays.

    Fields may have a default, a factory, and the options `repr`, `compare`, `hash`, and `init=False` with a factory. Raises: TypeError for `kw_only` and
    `__post_init__`, which no class needs.
    """
    made = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    known = fields(made)  # type: ignore[arg-type]  # mypy does not know that it is a dataclass now
    if hasattr(made, "__post_init__") or any(each.kw_only for each in known):
        raise TypeError(f"{cls.__qualname__}: an immutable class has neither kw_only nor __post_init__")
    functions = {
        "__init__": _initialiser(made, known),
        "__eq__": _equality(known),
        "__hash__": _hash(known),
        "__repr__": _representation(known),
        "__setattr__": _refuse_change,
        "__delattr__": _refuse_deletion,
        "__getstate__": _state,
        "__setstate__": _set_state,
    }
    for name, function in functions.items():
        if name not in vars(cls):
            setattr(made, name, function)
    return made


def _initialiser(cls: type, known: tuple[Field[Any], ...]) -> Function:
    names = tuple(each.name for each in known if each.init)
    setters = tuple(_setter(cls, name) for name in names)
    own = tuple(
        (_setter(cls, each.name), each.default_factory) for each in known if not each.init and each.default_factory is not MISSING
    )
    defaults = {each.name: each.default for each in known if each.default is not MISSING}
    factories = {each.name: each.default_factory for each in known if each.default_factory is not MISSING}
    count, every = len(names), frozenset(names)
    by_name = itemgetter(*names) if len(names) > 1 else None

    def initialise(self: object, /, *given: Any, **named: Any) -> None:
        if by_name is not None and named.keys() == every and not given:
            given = by_name(named)
        elif named or len(given) != count:
            given = (*given, *_rest(cls, names[len(given) :], named, defaults, factories))
            if len(given) != count:
                raise TypeError(f"{cls.__qualname__}() takes {count} values, and {len(given)} were given")
        for setter, value in zip(setters, given, strict=True):
            setter(self, value)
        for setter, factory in own:
            setter(self, factory())

    return initialise


def _setter(cls: type, name: str) -> Callable[[object, Any], None]:
    """Sets the slot of a field without looking it up again, which takes half the time of `object.__setattr__`."""
    setter: Callable[[object, Any], None] = getattr(cls, name).__set__
    return setter


def _rest(
    cls: type,
    names: Iterable[str],
    named: dict[str, Any],
    defaults: Mapping[str, Any],
    factories: Mapping[str, Callable[[], Any]],
) -> list[Any]:
    """The values of these fields: those that are named, then the defaults. Raises: TypeError if one is missing, or a name is left."""
    found: list[Any] = []
    missing: list[str] = []
    for name in names:
        if name in named:
            found.append(named.pop(name))
        elif name in defaults:
            found.append(defaults[name])
        elif name in factories:
            found.append(factories[name]())
        else:
            missing.append(name)
    if missing:
        raise TypeError(f"{cls.__qualname__}() lacks {', '.join(missing)}")
    if named:
        raise TypeError(f"{cls.__qualname__}() takes no {', '.join(named)}, or has it already")
    return found


def _equality(known: tuple[Field[Any], ...]) -> Function:
    compared = _values(each.name for each in known if each.compare)

    def equal(self: object, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(known: tuple[Field[Any], ...]) -> Function:
    hashed = _values(each.name for each in known if (each.compare if each.hash is None else each.hash))
    return lambda self: hash(hashed(self))


def _values(names: Iterable[str]) -> Callable[[object], tuple[Any, ...]]:
    match tuple(names):
        case ():
            return lambda _: ()
        case (name,):
            return lambda item: (getattr(item, name),)
        case several:
            return attrgetter(*several)


def _representation(known: tuple[Field[Any], ...]) -> Function:
    shown = tuple(each.name for each in known if each.repr)

    @recursive_repr()
    def represent(self: object) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return represent


def _refuse_change(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """For `copy` and `pickle`, which would otherwise assign to the fields."""
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
