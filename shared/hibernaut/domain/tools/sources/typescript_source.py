"""Reads the syntax tree of a tool in TypeScript: its functions, its types and their comments. The source is never executed.

It uses the library `tree-sitter`, and imports it at the first source. Knows the grammar; must not know JSON schemas.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from hibernaut.domain.tools.tool_returns import storable
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool import MAX_NAME

if TYPE_CHECKING:
    from tree_sitter import Language, LogType, Node, Parser, Tree

_FUNCTIONS = ("function_declaration", "generator_function_declaration")
_VALUES = ("arrow_function", "function_expression")
_TYPES = ("interface_declaration", "type_alias_declaration", "enum_declaration")
_PARAMETER = re.compile(r"(?:\{[^}]*+\}\s*+)?\[?\s*+([\w$.]++)[^\]\s]*+\]?\s*+(?:-\s++)?(.*)", re.DOTALL)
_TAG = re.compile(r"^[^\S\n]*+@", re.MULTILINE)
"""The beginning of a line with a tag, such as `@param`."""
_SHOWN = 60
_INVALID = "The tool's source is not valid TypeScript"
QUICK_CALLS = 200
"""The steps in which most sources are parsed, up to some 10 kB; the parser reports each hundred of its operations."""
_CALLS_AFTER_ERROR = 10
_CHUNK = 64 * 1024
_LOGGED_PLACE = re.compile(r"row:(\d+), column:(\d+)")


@immutable
class Comment:
    """The contents of a comment `/** … */`: the description, and that of each parameter."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


@immutable
class TypedFunction:
    """A function at the top of a source."""

    name: str
    node: Node
    exported: bool
    comment: Comment


@immutable
class TypescriptSource:
    """The functions of a source in their order, and its types by name."""

    functions: tuple[TypedFunction, ...]
    types: dict[str, Node]

    def function(self, name: str | None) -> TypedFunction:
        """The function called `name`; without a name, the last exported one, else the last one. Raises: InvalidToolSource,
        InvalidArgument for its name.
        """
        found = [one for one in self.functions if name in (None, one.name)]
        selected = next((one for one in reversed(found) if one.exported), found[-1] if found else None)
        if selected is None:
            raise InvalidToolSource(
                f"The tool's source defines no function called {name}" if name else "The tool's source defines no function"
            )
        if len(selected.name) > MAX_NAME:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: A tool's name has at most {MAX_NAME} characters: {selected.name[: 2 * MAX_NAME]}"
            )
        return selected


def read(source: str) -> TypescriptSource:
    """The source's functions and types. Raises: InvalidToolSource with the line and the column of what cannot be parsed."""
    root = _parsed(source.encode("utf-8", "replace"))
    if root.has_error:
        raise _unreadable(root)
    functions, types = list[TypedFunction](), dict[str, "Node"]()
    for statement in root.named_children:
        exported = statement.type == "export_statement"
        declared = (statement.child_by_field_name("declaration") or statement.child_by_field_name("value")) if exported else None
        node = declared or statement
        if node.type in _TYPES:
            types[text_of(_named(node))] = node
        found = list(_functions(node))
        comment = comment_on(statement) if found else Comment()
        functions += [TypedFunction(name, function, exported, comment) for name, function in found]
    return TypescriptSource(tuple(functions), types)


def function_name(source: str) -> str:
    """The name of the function that a source is called by. Raises: InvalidToolSource."""
    return read(source).function(None).name


def text_of(node: Node | None) -> str:
    """The text of a part of the source; empty if there is none."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def place_of(node: Node, root: Node | None = None) -> tuple[int, int]:
    """The line and the column of a part of the source; both count from 1, the column in characters.

    `root`: the root of its tree. Without it, the time grows with the square of the depth of the part.
    """
    if root is None:
        root = node
        while root.parent is not None:
            root = root.parent
    # The root begins where the first statement does.
    _, newline, line = (root.text or b"")[: node.start_byte - root.start_byte].rpartition(b"\n")
    indent = 0 if newline else root.start_point.column
    return node.start_point.row + 1, indent + len(line.decode("utf-8", "replace")) + 1


def comment_on(node: Node) -> Comment:
    """The comment `/** … */` directly before a part of the source."""
    before = node.prev_named_sibling
    text = text_of(before) if before is not None and before.type == "comment" else ""
    return _comment(text) if text.startswith("/**") else Comment()


def _parsed(source: bytes) -> Node:
    """The root of the syntax tree; with an error if the source has one. Raises: InvalidToolSource.

    Behind an error, the parser tries many ways to go on, in a time that grows with the square of the source. A source that takes
    more than QUICK_CALLS is therefore parsed again, up to its first error: the parser tells of it in its log, which is slow.
    """
    from tree_sitter import Parser

    calls = itertools.count()
    tree = None
    with suppress(ValueError):  # stopped
        tree = _tree(Parser(_language()), source, lambda: next(calls) >= QUICK_CALLS)
    error = _FirstError()
    try:
        tree = tree or _tree(Parser(_language(), logger=error.read), source, error.is_past)
    except ValueError:
        raise error.in_source(source) from None
    return Parser(_language()).parse(source, tree).root_node  # the same tree, whose nodes have their text at hand


def _tree(parser: Parser, source: bytes, stops: Callable[[], bool]) -> Tree:
    """The syntax tree. Raises: ValueError if the parser has been stopped."""

    def chunk(offset: int, _: object) -> bytes:
        return source[offset : offset + _CHUNK]

    return parser.parse(chunk, progress_callback=lambda *_: stops())


class _FirstError:
    """Finds the first error of a source in the parser's log. The parser reads a text in several ways at once; when the last one
    has failed, it resumes one of them.
    """

    def __init__(self) -> None:
        self._place = ""
        self._found = False
        self._calls = 0

    def read(self, _: LogType, message: str) -> None:
        """Read one line of the log."""
        if not self._found:
            self._found = message.startswith("resume ")
            if message.startswith("lex_internal "):
                self._place = message

    def is_past(self) -> bool:
        """Whether the parser has met an error and does not end soon."""
        self._calls += self._found
        return self._calls > _CALLS_AFTER_ERROR

    def in_source(self, source: bytes) -> InvalidToolSource:
        """The error, with its place."""
        place = _LOGGED_PLACE.search(self._place)
        row, column = (int(place[1]), int(place[2])) if place else (0, 0)
        lines = source.split(b"\n", row)
        before, rest = lines[row][:column].decode("utf-8", "replace"), lines[row][column:].decode("utf-8", "replace")
        skipped = rest[: len(rest) - len(rest.lstrip())]
        line = row + 1 + skipped.count("\n")
        column = len((before + skipped).rpartition("\n")[2]) + 1
        return InvalidToolSource(f"{_INVALID}: near {rest.strip()[:_SHOWN]!r}", line, column)


@lru_cache(1)
def _language() -> Language:
    import tree_sitter_typescript
    from tree_sitter import Language

    return Language(tree_sitter_typescript.language_typescript())


def _unreadable(root: Node) -> InvalidToolSource:
    """The error that names the first place that the grammar does not allow."""
    node = root
    while inner := next((child for child in node.children if child.is_error or child.is_missing or child.has_error), None):
        node = inner
        if node.is_error or node.is_missing:
            break
    location = f"{node.type} is missing" if node.is_missing else f"near {text_of(node).strip()[:_SHOWN]!r}"
    return InvalidToolSource(f"{_INVALID}: {location}", *place_of(node, root))


def _named(node: Node) -> Node | None:
    return node.child_by_field_name("name")


def _functions(node: Node) -> Iterator[tuple[str, Node]]:
    """(name, function) for the functions that a statement declares."""
    if node.type in _FUNCTIONS:
        yield text_of(_named(node)), node
    for declared in node.named_children if node.type == "lexical_declaration" else ():
        value = declared.child_by_field_name("value")
        if value is not None and value.type in _VALUES:
            yield text_of(_named(declared)), value


def _comment(text: str) -> Comment:
    body = "\n".join(re.sub(r"^\s*\* ?", "", line) for line in text[3:-2].split("\n"))
    description, *tags = _TAG.split(body)
    parameters = {}
    for tag in tags:
        kind, _, text_of_tag = tag.partition(" ")
        if kind in ("param", "arg", "argument") and (match := _PARAMETER.match(text_of_tag.strip())):
            parameters[match[1]] = storable(" ".join(match[2].split()))
    return Comment(storable(description.strip()), parameters)
