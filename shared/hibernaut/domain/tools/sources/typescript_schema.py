"""Derives a tool's JSON schema from its source in TypeScript: from the signature, its comment, and the types that the source
declares.

Only what JSON can hold is described; everything else is refused with the line and the column. Must not know how a tool runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hibernaut.domain.tools.sources import typescript_source
from hibernaut.domain.tools.sources.typescript_source import Comment, TypescriptSource, comment_on, place_of, text_of
from hibernaut.domain.tools.step_budget import BudgetSpent, StepBudget
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidToolSource
from hibernaut.schemas.json_schema import LARGEST_SCHEMA, problem_of, size_problem_of

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = {"string": "string", "number": "number", "boolean": "boolean", "object": "object"}
_LISTS = ("Array", "ReadonlyArray")
_NOTHING = ("null", "undefined")
_DEEPEST = 32


def derive_schema(source_code: str, name: str | None = None) -> JsonObject:
    """`{name, description, parameters}` of the function called `name`, or of the last exported function, else of the last one.

    Raises: InvalidToolSource with the line and the column; InvalidArgument for a name of more than 48 characters.
    """
    source = typescript_source.read(source_code)
    function = source.function(name)
    line, column = place_of(function.node)
    if not function.comment.description:
        raise InvalidToolSource(f"Function {function.name} needs a comment /** … */ that says what it does", line, column)
    try:
        parameters = _Reader(source).parameters(function.node, function.comment)
    except BudgetSpent:
        raise InvalidToolSource(f"The types of {function.name} are too large to be written inline", line, column) from None
    schema = {"name": function.name, "description": function.comment.description, "parameters": parameters}
    if problem := problem_of(parameters) or size_problem_of(schema):
        raise InvalidToolSource(f"The schema of {function.name} cannot be offered to a model: {problem}", line, column)
    return schema


def described(source_code: str) -> tuple[str, str]:
    """The name of the function that a source is called by, and the text of its comment. Raises: InvalidToolSource."""
    function = typescript_source.read(source_code).function(None)
    return function.name, function.comment.description


class _Reader:
    """Makes JSON schemas of types. The budget counts what becomes part of the schema."""

    def __init__(self, source: TypescriptSource) -> None:
        self._types = source.types
        self._budget = StepBudget(LARGEST_SCHEMA)

    def parameters(self, function: Node, comment: Comment) -> JsonObject:
        properties: JsonObject = {}
        required: list[str] = []
        parameter_list = function.child_by_field_name("parameters") or function.child_by_field_name("parameter")
        for parameter in (
            parameter_list.named_children if parameter_list is not None and parameter_list.type == "formal_parameters" else ()
        ):
            if parameter.type == "comment" or text_of(parameter.child_by_field_name("pattern")) == "this":
                continue
            name, optional = self._parameter(parameter, properties, comment)
            if optional:
                continue
            if len(required) < len(properties) - 1:
                # Arguments are passed by position, the required ones first.
                raise _refused(parameter, f"parameter {name} is required, so it must stand before the optional ones")
            required.append(name)
        return {"type": "object", "properties": properties, "required": required}

    def _parameter(self, parameter: Node, properties: JsonObject, comment: Comment) -> tuple[str, bool]:
        """Add a parameter to the properties. Returns its name, and whether it may be left out."""
        pattern = parameter.child_by_field_name("pattern")
        if pattern is None or pattern.type != "identifier":
            raise _refused(parameter, "it cannot be described to a model: name each parameter")
        name = text_of(pattern)
        annotation = parameter.child_by_field_name("type")
        if annotation is None:
            raise _refused(parameter, f"parameter {name} needs a type")
        schema, nullable = self._of(_inside(annotation), 0)
        text = comment.parameters.get(name)
        properties[name] = schema | ({"description": text} if text else {})
        has_default = parameter.child_by_field_name("value") is not None
        return name, nullable or has_default or parameter.type == "optional_parameter"

    def _of(self, node: Node, depth: int) -> tuple[JsonObject, bool]:
        """The schema of a type, and whether it includes null or undefined."""
        self._budget.spend(len(node.type))
        if depth > _DEEPEST:
            raise _refused(node, "it contains itself, or is nested too deeply, to be written inline")
        match node.type:
            case "predefined_type" if text_of(node) in _PLAIN:
                return {"type": _PLAIN[text_of(node)]}, False
            case "parenthesized_type" | "readonly_type":
                return self._of(_inside(node), depth + 1)
            case "array_type":
                return self._list(_inside(node), depth), False
            case "generic_type":
                return self._generic(node, depth), False
            case "literal_type" | "union_type":
                return self._union(node, depth)
            case "object_type" | "interface_body":
                return self._object(node, depth), False
            case "tuple_type":
                parts = [self._of(part, depth + 1)[0] for part in node.named_children]
                return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}, False
            case "type_identifier" if text_of(node) in self._types:
                return self._declared(self._types[text_of(node)], depth)
            case _:
                raise _refused(node, "JSON has no such type; give the tool a json_schema if it is meant to be something else")

    def _list(self, items: Node, depth: int) -> JsonObject:
        return {"type": "array", "items": self._of(items, depth + 1)[0]}

    def _generic(self, node: Node, depth: int) -> JsonObject:
        name = text_of(node.child_by_field_name("name"))
        arguments = next((child for child in node.named_children if child.type == "type_arguments"), None)
        items = arguments.named_children if arguments is not None else []
        if name in _LISTS and len(items) == 1:
            return self._list(items[0], depth)
        if name == "Record":
            return {"type": "object"}
        raise _refused(node, "JSON has no such type; use a list, Record, an interface or an object")

    def _union(self, node: Node, depth: int) -> tuple[JsonObject, bool]:
        """Literals become an enum; of other alternatives there may be one, in addition to null and undefined."""
        parts = list(_alternatives(node))
        self._budget.spend(len(parts))
        alternatives = [part for part in parts if text_of(part) not in _NOTHING]
        nullable = len(alternatives) < len(parts)
        values = [_literal(part) for part in alternatives if part.type == "literal_type"]
        if values and len(values) == len(alternatives):
            kinds = {
                "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number" for value in values
            }
            if len(kinds) == 1:
                self._budget.spend(sum(len(str(value)) for value in values))
                return {"type": kinds.pop(), "enum": values}, nullable
        if len(alternatives) == 1 and alternatives[0].type != "literal_type":
            schema, inner = self._of(alternatives[0], depth + 1)
            return schema, nullable or inner
        raise _refused(node, "a value is described to a model by one type, beside null and undefined")

    def _object(self, node: Node, depth: int) -> JsonObject:
        properties: JsonObject = {}
        required = []
        for member in node.named_children:
            if member.type == "comment":
                continue
            annotation = member.child_by_field_name("type")
            if member.type != "property_signature" or annotation is None:
                raise _refused(member, "an object has named properties with types")
            name = text_of(member.child_by_field_name("name")).strip("\"'")
            schema, nullable = self._of(_inside(annotation), depth + 1)
            text = comment_on(member).description
            properties[name] = schema | ({"description": text} if text else {})
            self._budget.spend(len(name) + len(text))
            if not nullable and not any(child.type == "?" for child in member.children):
                required.append(name)
        return {"type": "object", "properties": properties, "required": required}

    def _declared(self, node: Node, depth: int) -> tuple[JsonObject, bool]:
        """The schema of a type that the source declares."""
        if node.child_by_field_name("type_parameters") is not None:
            raise _refused(node, "a type with parameters cannot be described")
        if node.type == "type_alias_declaration" and (value := node.child_by_field_name("value")) is not None:
            return self._of(value, depth + 1)
        body = node.child_by_field_name("body")
        if node.type == "interface_declaration" and body is not None:
            if any(child.type == "extends_type_clause" for child in node.named_children):
                raise _refused(node, "an interface that extends another cannot be described: write its properties")
            return self._object(body, depth), False
        return self._enumeration(node, body), False

    def _enumeration(self, node: Node, body: Node | None) -> JsonObject:
        values: list[Json] = []
        members = body.named_children if body is not None else []
        self._budget.spend(len(members))
        for member in members:
            value = member.child_by_field_name("value") if member.type == "enum_assignment" else None
            if value is None or value.type not in ("string", "number"):
                raise _refused(node, "each member of an enum needs a value")
            values.append(_value(text_of(value)))
            self._budget.spend(len(str(values[-1])))
        kind = "string" if all(isinstance(value, str) for value in values) else "number"
        return {"type": kind, "enum": values}


def _inside(node: Node) -> Node:
    """The one part of an annotation, or of brackets."""
    return next(child for child in node.named_children if child.type != "comment")


def _alternatives(node: Node) -> list[Node]:
    """The alternatives of a union, which the grammar nests to the left."""
    found, remaining = list["Node"](), [node]
    while remaining:
        part = remaining.pop()
        if part.type == "union_type":
            remaining += reversed(part.named_children)
        else:
            found.append(part)
    return found


def _literal(node: Node) -> Json:
    return _value(text_of(node))


def _value(text: str) -> Json:
    """The value of a literal: a text, a number or a boolean."""
    if text[:1] in "\"'":
        quoted = text[1:-1].replace('\\"', '"').replace("\\'", "'").replace('"', '\\"')
        text = f'"{quoted}"'
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value


def _refused(node: Node, hint: str) -> InvalidToolSource:
    text = " ".join(text_of(node).split())
    return InvalidToolSource(f"{text[:80]!r}: {hint}", *place_of(node))
