"""An immutable class is a frozen dataclass with slots, whatever is asked of it; only how its functions are made differs."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.schemas.immutable import immutable
from tests.architecture.tree import ROOT, files, name

Decorator = Callable[[type], type]


def pair(decorator: Decorator) -> type:
    """A class with every kind of field."""

    class Pair:
        """A class of data."""

        left: int
        right: str
        seen: list[int] = field(default_factory=list)
        note: str = field(default="n", compare=False)
        secret: str = field(default="s", repr=False)
        weight: int = field(default=1, hash=False)
        cache: dict[int, int] = field(init=False, default_factory=dict, repr=False, compare=False)

    return decorator(Pair)


Ours, Theirs = pair(immutable), pair(dataclass(frozen=True, slots=True))
NAMES = ("left", "right", "seen", "note", "secret", "weight", "cache", "other")
VALUES = st.one_of(st.integers(0, 2), st.text(max_size=2), st.tuples(st.integers(0, 1)))
ARGUMENTS = st.tuples(st.lists(VALUES, max_size=7), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))


def made(cls: type, given: tuple[list[Any], dict[str, Any]]) -> Any:
    """The item, or the kind of the refusal."""
    try:
        return cls(*given[0], **given[1])
    except TypeError:
        return TypeError


@given(ARGUMENTS, ARGUMENTS)
def test_an_immutable_class_is_made_compared_hashed_and_shown_as_a_dataclass(one: Any, two: Any) -> None:
    (ours, our_other), (theirs, their_other) = ([made(cls, each) for each in (one, two)] for cls in (Ours, Theirs))
    assert (ours is TypeError) == (theirs is TypeError)
    if ours is TypeError:
        return
    assert repr(ours) == repr(theirs)
    assert asdict(ours) == asdict(theirs)
    assert (ours == our_other) == (theirs == their_other)
    assert ours.__eq__(theirs) is NotImplemented
    assert outcome_of_hash(ours) == outcome_of_hash(theirs)


def outcome_of_hash(item: object) -> int | str:
    try:
        return hash(item)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("cls", [Ours, Theirs])
def test_no_field_of_an_item_changes(cls: Any) -> None:
    item = cls(1, "a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'left'"):
        item.left = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'left'"):
        del item.left
    assert not hasattr(item, "__dict__")


def test_an_item_gets_no_attribute_that_is_no_field() -> None:
    item: Any = Ours(1, "a")
    with pytest.raises(FrozenInstanceError):
        item.unknown = 2


def test_what_knows_dataclasses_knows_an_immutable_class() -> None:
    item = Ours(1, "a")
    assert [each.name for each in fields(Ours)] == [each.name for each in fields(Theirs)]
    assert replace(item, left=2) == Ours(2, "a")
    assert copy.copy(item) == copy.deepcopy(item) == item
    match item:
        case Ours(left, right):  # type: ignore[misc]  # mypy knows no class that a function has made
            assert (left, right) == (1, "a")


def test_factories_make_a_value_for_each_item() -> None:
    assert Ours(1, "a").seen is not Ours(1, "a").seen
    assert Ours(1, "a").cache is not Ours(1, "a").cache


@immutable
class Node:
    """An item that can name another one, and that words and compares itself."""

    to: list[Node]

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7


def test_an_item_is_pickled_and_a_circle_is_shown() -> None:
    node = Node([])
    node.to.append(node)
    assert repr(pickle.loads(pickle.dumps(node))) == repr(node) == "Node(to=[...])"


def test_a_function_of_the_class_itself_stays() -> None:
    assert Node([]) == 5
    assert hash(Node([])) == 7


def test_what_no_class_needs_is_refused() -> None:
    class KeywordOnly:
        a: int = field(kw_only=True)

    class PostInit:
        a: int

        def __post_init__(self) -> None: ...

    for cls in (KeywordOnly, PostInit):
        with pytest.raises(TypeError, match=cls.__name__):
            immutable(cls)


def test_no_frozen_class_of_the_server_is_compiled_at_import() -> None:
    """Each frozen dataclass costs every cold start 3 million instructions more than an immutable class."""
    decorator = "\n@dataclass(frozen=True, slots=True"
    compiled = [name(file) for file in files(("shared/hibernaut", "functions"), "*.py") if decorator in file.read_text()]
    assert compiled == []


def test_the_decorator_compiles_no_function_of_an_object() -> None:
    """Python 3.13 and newer compile a function without content for every dataclass."""
    told = """
import dataclasses
from hibernaut.schemas.immutable import immutable
compiled = []
dataclasses.exec = lambda text, *rest: (compiled.append(text), exec(text, *rest))
class A:
    a: int
    b: str = ""
assert repr(immutable(A)(1)) == "A(a=1, b='')"
assert not any("self" in text for text in compiled), compiled
"""
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
