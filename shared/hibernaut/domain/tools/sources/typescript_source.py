"""Reads the syntax tree of a tool in TypeScript: its functions, its types and their comments. The source is never executed.

It uses the library `tree-sitter`, and imports it at the first source. Knows the grammar; must not know JSON schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from hibernaut.domain.tools.tool_returns import storable
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool import MAX_NAME

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_FUNCTIONS = ("function_declaration", "generator_function_declaration")
_VALUES = ("arrow_function", "function_expression")
_TYPES = ("interface_declaration", "type_alias_declaration", "enum_declaration")
_PARAMETER = re.compile(r"(?:\{[^}]*\}\s*)?\[?\s*([\w$.]+)[^\]\s]*\]?\s*(?:-\s+)?(.*)", re.DOTALL)
_SHOWN = 60


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
            raise InvalidArgument(f"A tool's name has at most {MAX_NAME} characters: {selected.name[: 2 * MAX_NAME]}")
        return selected


def read(source: str) -> TypescriptSource:
    """The source's functions and types. Raises: InvalidToolSource with the line and the column of what cannot be parsed."""
    from tree_sitter import Parser

    root = Parser(_language()).parse(source.encode("utf-8", "replace")).root_node
    if root.has_error:
        raise _unreadable(root)
    functions, types = list[TypedFunction](), dict[str, "Node"]()
    for statement in root.named_children:
        exported = statement.type == "export_statement"
        declared = (statement.child_by_field_name("declaration") or statement.child_by_field_name("value")) if exported else None
        node = declared or statement
        if node.type in _TYPES:
            types[text_of(_named(node))] = node
        functions += [TypedFunction(*found, exported, comment_on(statement)) for found in _functions(node)]
    return TypescriptSource(tuple(functions), types)


def function_name(source: str) -> str:
    """The name of the function that a source is called by. Raises: InvalidToolSource."""
    return read(source).function(None).name


def text_of(node: Node | None) -> str:
    """The text of a part of the source; empty if there is none."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def place_of(node: Node) -> tuple[int, int]:
    """The line and the column of a part of the source; both count from 1, the column in characters."""
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
    return InvalidToolSource(f"The tool's source is not valid TypeScript: {location}", *place_of(node))


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
    description, *tags = re.split(r"^\s*@", body, flags=re.MULTILINE)
    parameters = {}
    for tag in tags:
        kind, _, text_of_tag = tag.partition(" ")
        if kind in ("param", "arg", "argument") and (match := _PARAMETER.match(text_of_tag.strip())):
            parameters[match[1]] = storable(" ".join(match[2].split()))
    return Comment(storable(description.strip()), parameters)
