"""Immutable classes of data: the decorator `immutable`, which every class takes that would be
`@dataclass(frozen=True, slots=True)`.

`dataclasses` writes six functions for each class as text, which Python compiles at every import, because byte code does not keep
them. That was a sixth of the CPU time of a cold function (decision 68). The functions here are closures over the fields; all else
is that of `dataclasses`, so that `replace`, `fields`, `asdict`, `match` and type checkers treat the class as a dataclass.
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
    """The class with slots for its fields, and with the functions of a frozen dataclass. A function that the class defines itself
    stays.

    Fields may have a default, a factory, and the options `repr`, `compare`, `hash`, and `init=False` with a factory. Raises:
    TypeError for `kw_only` and `__post_init__`, which no class needs.
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
    defaults = {each.name: each.default for each in known if each.init and each.default is not MISSING}
    factories = tuple((each.name, each.default_factory) for each in known if each.init and each.default_factory is not MISSING)
    count, every = len(names), frozenset(names)
    by_name = _by_name(names)

    def initialise(self: object, /, *given: Any, **named: Any) -> None:
        if named or len(given) != count:
            if given or named.keys() != every:
                named = {**defaults, **dict(zip(names, given, strict=False)), **_others(cls, names[: len(given)], named)}
                for name, factory in factories:
                    if name not in named:
                        named[name] = factory()
                if len(given) > count or named.keys() != every:
                    raise _mismatch(cls, names, given, named)
            given = by_name(named)
        for setter, value in zip(setters, given, strict=True):
            setter(self, value)
        for setter, factory in own:
            setter(self, factory())

    return initialise


def _setter(cls: type, name: str) -> Callable[[object, Any], None]:
    """Sets the slot of a field without looking it up again, which takes half the time of `object.__setattr__`."""
    setter: Callable[[object, Any], None] = getattr(cls, name).__set__
    return setter


def _others(cls: type, taken: tuple[str, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The named values. Raises: TypeError if one of them is given by its place too."""
    if taken and not named.keys().isdisjoint(taken):
        raise TypeError(f"{cls.__qualname__}() has {', '.join(name for name in taken if name in named)} already")
    return named


def _mismatch(cls: type, names: tuple[str, ...], given: tuple[Any, ...], named: Mapping[str, Any]) -> TypeError:
    if len(given) > len(names):
        return TypeError(f"{cls.__qualname__}() takes {len(names)} values, and {len(given)} were given")
    if missing := [name for name in names if name not in named]:
        return TypeError(f"{cls.__qualname__}() lacks {', '.join(missing)}")
    return TypeError(f"{cls.__qualname__}() takes no {', '.join(name for name in named if name not in names)}")


def _by_name(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """A function that returns the values of these names."""
    return itemgetter(*names) if len(names) > 1 else lambda named: tuple(named[name] for name in names)


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
