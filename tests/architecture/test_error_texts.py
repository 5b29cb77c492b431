"""Errors of one kind have one form: a word such as V1's `CONFLICT` and a text, except where clients know another text of V1."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from hibernaut.schemas import errors
from tests.architecture.tree import files, name, parsed

V1 = (
    "No active runs to cancel for ",
    "An identity with identifier key ",
)
"""How texts of V1 begin that have no such word."""
A_WORD = re.compile("[A-Z]+(?:_[A-Z]+)*: ")
A_RECORD = re.compile(r"(\w+) with (?:id|ID) '?\{\}'? not found\.?")


def written(node: ast.expr | None) -> str | None:
    """The beginning of a text that the source writes, with {} for each value; None for another expression."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values)
        case ast.BinOp(left=left, op=ast.Add()):
            return written(left)
    return None


@cache
def errors_made() -> list[tuple[str, str, str]]:
    """The name of each class that is called with a text, the text, and where."""
    return [
        (node.func.id, text, f"{name(file)}:{node.lineno}")
        for file in files(("shared/hibernaut",), "*.py")
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id[:1].isupper() and node.args
        if (text := written(node.args[0])) is not None
    ]


def texts(kind: type[errors.HibernautError]) -> list[tuple[str, str]]:
    """The texts with which an error of this kind is made, and where."""
    kinds = {kind.__name__, *(each.__name__ for each in _below(kind))}
    return [(text, place) for made, text, place in errors_made() if made in kinds]


def _below(kind: type[errors.HibernautError]) -> Iterator[type[errors.HibernautError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


@pytest.mark.parametrize("kind", [errors.Conflict, errors.Forbidden])
def test_errors_of_a_kind_begin_with_a_word_of_theirs(kind: type[errors.HibernautError]) -> None:
    found = [(text, place) for text, place in texts(kind) if not text.startswith(("{}", *V1))]
    assert len(found) > 5
    assert [(text, place) for text, place in found if not A_WORD.match(text)] == []


def test_a_record_that_is_not_there_is_told_in_one_text() -> None:
    forms: dict[str, set[str]] = defaultdict(set)
    for text, _ in texts(errors.NotFound):
        if found := A_RECORD.fullmatch(text):
            forms[found[1]].add(text)
    assert len(forms) > 5
    assert {noun: told for noun, told in forms.items() if len(told) > 1} == {}
