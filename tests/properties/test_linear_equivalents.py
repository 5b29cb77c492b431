"""Patterns that take a time proportional to a text find what the shorter, backtracking forms of the same patterns find."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc

import pytest
from docstring_parser.google import GOOGLE_TYPED_ARG_REGEX
from hypothesis import example, given
from hypothesis import strategies as st

from hibernaut.domain import prompt_tags
from hibernaut.domain.memory import memory_patch
from hibernaut.domain.tools import tool_arguments
from hibernaut.domain.tools.mcp import oauth
from hibernaut.domain.tools.sources import google_docstring, typescript_source
from hibernaut.services.sending import direct_calls

LABELS = [None, "human", " spaced", "/slashed", " /both", "  ", "v", "value x"]


def texts(*parts: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), max_size=10).map("".join)


def backtracking(labels: list[str | None]) -> str:
    """What stands behind the bracket of one of our tags."""
    names = sorted({*prompt_tags.TAGS, *map(prompt_tags.tag_of, labels)}, key=len, reverse=True)
    return rf"(?=\s*/?\s*(?:{'|'.join(map(re.escape, names))})(?:[\s/>]|$))"


MARKUP = texts("<", "&lt;", " ", "\n", "/", ">", "x", "human", "Value", "spaced", "slashed", "both", "memory_update", "v")


@given(MARKUP, st.lists(st.sampled_from(LABELS), max_size=4))
@example("<   x", ["  "])
@example("<  /x", ["  "])
@example("< / spaced>", [" spaced"])
@example("<  /both ", [" /both"])
def test_tags_are_escaped_and_unescaped_as_by_the_backtracking_pattern(text: str, labels: list[str | None]) -> None:
    rest = backtracking(labels)
    assert prompt_tags.escaped(text, labels) == re.sub(f"<{rest}", "&lt;", text, flags=re.IGNORECASE)
    assert prompt_tags.plain(text, labels) == re.sub(f"&lt;{rest}", "<", text, flags=re.IGNORECASE)
    update = re.sub(r"<(?=\s*/?\s*memory_update)", "&lt;", text, flags=re.IGNORECASE)
    assert prompt_tags.without_update_tags(text) == update


def whole(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text, re.ASCII) is not None


@given(texts("1", "23", ".", "e", "E", "+", "-", "0", " ", "x"))
def test_numbers_are_those_of_the_backtracking_patterns(text: str) -> None:
    assert bool(tool_arguments._INTEGER.fullmatch(text)) == whole(r"[+-]?\d+(?:\.0+)?")(text)
    assert bool(tool_arguments._NUMBER.fullmatch(text)) == whole(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")(text)


@given(texts(" ", "\t", "a", "\x0b", "*", "+"), st.sampled_from(["Add", "Update", "Delete"]))
def test_the_labels_of_a_patch_are_those_of_the_backtracking_patterns(text: str, kind: str) -> None:
    expected = re.match(r"^[ \t]*(\S.*?)[ \t]*$", text)
    found = memory_patch.sections(f"*** {kind} Block:{text}")
    assert [section.label for section in found] == ([expected[1]] if expected else [])
    moved = memory_patch.sections(f"*** Update Block: a\n*** Move to:{text}")[0]
    assert isinstance(moved, memory_patch.UpdateSection)
    assert moved.new_label == (expected[1] if expected else None)
    added = memory_patch.sections(f"*** Add Block: a\nDescription:{text}\n+x")[0]
    described = re.match(r"^[ \t]*(.*?)[ \t]*$", text)
    assert described is not None
    assert added == memory_patch.AddSection("a", "x", described[1])


@given(texts("a", "9", "-", "=", " ", '"', "\\", ",", "B", "_", "\n", "é"))
@example('a="b=c')
@example('9a="x\\"y"b=c')
def test_challenges_have_the_parameters_that_the_backtracking_pattern_finds(header: str) -> None:
    found = re.findall(r'([A-Za-z][A-Za-z0-9_-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))', header)
    assert oauth._PARAMETER.findall(header) == found


@given(texts("```", "`", "json", " ", "\n", "{}", "x"))
def test_fences_are_removed_as_by_the_backtracking_pattern(text: str) -> None:
    assert direct_calls.unfenced(text) == re.sub(r"```(?:json)?\s*(.*?)\s*```", r"\1", text, flags=re.DOTALL)


@given(texts("x", "(", ")", " ", "\n", "*", "int", "y", "["))
def test_the_parameters_of_a_docstring_are_those_of_the_librarys_pattern(before: str) -> None:
    match = GOOGLE_TYPED_ARG_REGEX.match(before)
    found = {google_docstring._name_in(before).lstrip("*"), (match[1] if match else before).lstrip("*")}
    assert len(found) == 1 or not any(name.isidentifier() for name in found)


@given(texts("{", "}", "[", "]", " ", "\n", "x", ".", "-", "=", "é"))
def test_the_tags_of_a_comment_are_those_of_the_backtracking_pattern(text: str) -> None:
    pattern = r"(?:\{[^}]*\}\s*)?\[?\s*([\w$.]+)[^\]\s]*\]?\s*(?:-\s+)?(.*)"
    expected, found = re.match(pattern, text, re.DOTALL), typescript_source._PARAMETER.match(text)
    assert (found and found.groups()) == (expected and expected.groups())


@given(texts("@", " ", "\n", "\t", "\x0b", "x"))
def test_a_comment_is_split_at_its_tags_as_by_the_backtracking_pattern(body: str) -> None:
    expected = re.split(r"^\s*@", body, flags=re.MULTILINE)
    assert [part.strip() for part in typescript_source._TAG.split(body)] == [part.strip() for part in expected]


@pytest.mark.parametrize("blanks", [0, 3, 100])
def test_a_docstring_is_cleaned_as_python_cleans_it(blanks: int) -> None:
    text = "\n" * blanks + "  Do it.\n" + " \n" * blanks + "\t  More.\n" + "\n" * blanks
    assert google_docstring.cleaned(text) == cleandoc(text)
